from __future__ import annotations

from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from dovetail import labels
from dovetail.decide.sieve.shelf import TypeShelf
from dovetail.decide.sieve.typesets import TypeTable, bits
from dovetail.decide.sieve.wishes import pod_wishes
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.pod import DaemonSet, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement, Requirements, requirement
from dovetail.model.taints import Taint
from dovetail.model.topology import NodeTerm

VALUES = ("1", "2", "x")
FRESH = "nobody-says-this"
KEYS = (labels.ARCH, labels.ZONE, "team", "karpenter.k8s.aws/instance-cpu")


@st.composite
def requirements(draw: st.DrawFn, keys: tuple[str, ...] = KEYS) -> Requirement:
    """Any expression over few keys and values."""
    key = draw(st.sampled_from(keys))
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]))
    if operator in ("Exists", "DoesNotExist"):
        return requirement(key, operator)
    return requirement(key, operator, draw(st.sets(st.sampled_from(VALUES), min_size=1)))


@st.composite
def instance_types(draw: st.DrawFn) -> InstanceType:
    """A type that fixes some labels, with offerings that fix zones."""
    own = draw(st.lists(requirements((labels.ARCH, "karpenter.k8s.aws/instance-cpu")), max_size=2))
    zones = draw(st.sets(st.sampled_from(VALUES)))
    offerings = tuple(
        Offering(
            zone,
            "spot",
            1,
            Requirements([requirement(labels.ZONE, "In", [zone])]),
            is_available=draw(st.booleans()),
        )
        for zone in sorted(zones)
    )
    return InstanceType("t", Requirements(own), {}, {}, offerings)


def possible(
    kind: InstanceType, offering: Offering, pool: NodePool, key: str
) -> Iterator[str | None]:
    """The plain twin: every value that a label of one node may have, None for its absence."""
    stated = [one for one in pool.requirements if one.key == key]
    fixed = offering.requirements.get(key) or kind.requirements.get(key)
    comes_from_pool = bool(stated) and not labels.is_well_known(key)
    for value in (*VALUES, FRESH, None):
        if fixed:
            is_had = value is not None and fixed.has(value)
        elif comes_from_pool:
            is_had = True
        else:
            is_had = value is None
        if is_had and all(one.admits(value) for one in stated):
            yield value


def serves(kind: InstanceType, pool: NodePool, said: list[Requirement]) -> bool:
    """The plain twin: whether one offering can make a node that has every label as asked."""
    return any(
        all(
            any(
                all(one.admits(value) for one in said if one.key == key)
                for value in possible(kind, offering, pool, key)
            )
            for key in KEYS
        )
        for offering in kind.offerings
        if offering.is_available
    )


@settings(max_examples=200, deadline=None)
@given(
    st.lists(instance_types(), min_size=1, max_size=4),
    st.lists(requirements(), max_size=3),
    st.lists(requirements(), max_size=3),
)
def test_a_shelf_agrees_with_looking_at_every_offering(
    types: list[InstanceType], stated: list[Requirement], said: list[Requirement]
) -> None:
    """The types that are left are those of which one offering makes a node as asked."""
    pool = NodePool("p", requirements=tuple(stated))
    shelf = TypeShelf(pool, TypeTable(tuple(types)), ())
    (wish,) = pod_wishes(
        PodSpec({}, required_terms=(NodeTerm(tuple(said)),)) if said else PodSpec({})
    )
    got = shelf.admitting_all(wish, shelf.stock) & shelf.on_offer(wish)
    assert list(bits(got)) == [at for at, kind in enumerate(types) if serves(kind, pool, said)]


KIND = InstanceType(
    "a",
    Requirements([requirement(labels.INSTANCE_TYPE, "In", ["a"])]),
    {},
    {"cpu": 4000},
    (Offering("z", "spot", 1, Requirements()),),
)
OTHER = InstanceType(
    "b",
    Requirements([requirement(labels.INSTANCE_TYPE, "In", ["b"])]),
    {},
    {"cpu": 4000},
    KIND.offerings,
)


def daemon(name: str, **selector: str) -> DaemonSet:
    """A daemon set that takes one core, on one type if named."""
    by_key = {labels.INSTANCE_TYPE: selector["type"]} if selector else {}
    return DaemonSet(name, "kube-system", PodSpec({"cpu": 1000}, node_selector=by_key))


@pytest.mark.parametrize(
    ("pool", "want"),
    [
        pytest.param(NodePool("p"), [2000, 3000], id="each type has its own daemons"),
        pytest.param(NodePool("p", taints=(Taint("x"),)), [4000, 4000], id="taints keep them away"),
    ],
)
def test_daemon_sets_take_their_share_of_the_types_they_run_on(
    pool: NodePool, want: list[int]
) -> None:
    """What is left for pods differs by type."""
    daemons = (daemon("all"), daemon("some", type="a"), daemon("none", type="c"))
    shelf = TypeShelf(pool, TypeTable((KIND, OTHER)), daemons)
    free = shelf.table.free("cpu", shelf.overhead)
    assert [free.largest(1), free.largest(2)] == want


@pytest.mark.parametrize(
    ("key", "said", "want"),
    [
        pytest.param(
            labels.HOSTNAME, requirement(labels.HOSTNAME, "NotIn", ["n"]), True, id="not n"
        ),
        pytest.param(labels.HOSTNAME, requirement(labels.HOSTNAME, "Exists"), True, id="any name"),
        pytest.param(labels.HOSTNAME, requirement(labels.HOSTNAME, "In", ["n"]), False, id="n"),
        pytest.param(
            labels.NODE_NAME_FIELD,
            requirement(labels.NODE_NAME_FIELD, "In", ["n"]),
            False,
            id="by field",
        ),
    ],
)
def test_the_name_of_a_new_node_can_only_be_excluded(
    key: str,
    said: Requirement,
    want: bool,  # noqa: FBT001  a table column
) -> None:
    """Nobody knows it before the launch."""
    shelf = TypeShelf(NodePool("p"), TypeTable((KIND,)), ())
    assert bool(shelf.types_admitting(key, (said,))) is want
