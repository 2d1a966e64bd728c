from __future__ import annotations

from datetime import timedelta
from functools import reduce

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import api
from dovetail.decide.lifecycle.pool import HASH_VERSION, template_hash
from dovetail.model.pool import Budget, Disruption, NodeClassRef, NodePool
from dovetail.model.requirements import requirement
from dovetail.model.taints import Taint
from dovetail.state.objects import node_pool

KWOK = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")
NEVER = NodePool("default", expire_after=None)
PLAIN = NodePool("default", node_class=KWOK)
FULL = NodePool(
    "default",
    node_class=KWOK,
    labels={"team": "a", "tier": "b"},
    annotations={"note": "x"},
    taints=(Taint("k", "v"), Taint("k2", "", "NoExecute")),
    startup_taints=(Taint("s"),),
    termination_grace_period=timedelta(minutes=30),
)
GRACE = timedelta(seconds=90)
ZERO = timedelta(0)


@pytest.mark.parametrize(
    ("pool", "want"),
    [  # as the reference's library, 1.14.1, computes them
        pytest.param(NEVER, "17307646073972311821", id="nothing at all"),
        pytest.param(NodePool("x"), "14193706301438959238", id="the default expiry"),
        pytest.param(NodePool("x", expire_after=ZERO), "8618614044321057158", id="expiry 0s"),
        pytest.param(PLAIN, "12745407319442031341", id="a node class"),
        pytest.param(
            msgspec.structs.replace(PLAIN, labels=FULL.labels), "14502079425011122864", id="labels"
        ),
        pytest.param(FULL, "12848330800292015426", id="everything"),
        pytest.param(
            msgspec.structs.replace(FULL, expire_after=None),
            "17078902372145120652",
            id="everything but an expiry",
        ),
        pytest.param(
            NodePool("x", termination_grace_period=GRACE), "10933415184293214521", id="a grace"
        ),
        pytest.param(
            NodePool("x", termination_grace_period=ZERO), "1353707882896818486", id="a grace of 0s"
        ),
        pytest.param(
            NodePool("x", taints=(Taint("a"),) * 2), "2251796471377694400", id="a taint twice"
        ),
        pytest.param(NodePool("x", labels={"a": ""}), "11069951302820055719", id="an empty label"),
    ],
)
def test_the_hash_is_the_references_bit_for_bit(pool: NodePool, want: str) -> None:
    """So that a fleet which it made does not drift when Dovetail takes over."""
    assert template_hash(pool) == want
    assert HASH_VERSION == "v3"


@pytest.mark.parametrize(
    ("metadata", "spec", "want"),
    [  # as the reference's library, 1.14.1, computes them
        pytest.param({}, {}, "14193706301438959238", id="metadata: {}"),
        pytest.param({"labels": {}}, {}, "17923232244478515236", id="labels: {}"),
        pytest.param({"annotations": {}}, {}, "670430611327961222", id="annotations: {}"),
        pytest.param(
            {"labels": {}, "annotations": {}}, {}, "11935815012535734840", id="both are empty"
        ),
        pytest.param({}, {"taints": []}, "2251796471377694400", id="taints: []"),
        pytest.param({}, {"startupTaints": []}, "4581828550197377535", id="startupTaints: []"),
        pytest.param(
            {"labels": {}},
            {"taints": [], "startupTaints": []},
            "10118467603414073305",
            id="maps and lists are empty",
        ),
    ],
)
def test_what_a_template_gives_empty_counts_in_the_hash(
    metadata: dict[str, object], spec: dict[str, object], want: str
) -> None:
    """The reference, written in Go, tells an empty map or list from one that is not there."""
    reference = {"group": "", "kind": "", "name": ""}
    template = {
        "metadata": metadata,
        "spec": {"nodeClassRef": reference, "requirements": [], "expireAfter": "720h", **spec},
    }
    manifest = {"metadata": {"name": "default"}, "spec": {"template": template}}
    pool = node_pool(api.decode(api.NodePool, msgspec.json.encode(manifest)))
    assert template_hash(pool) == want


def fnv1(data: bytes) -> int:
    """FNV-1 over 64 bits, from its definition: multiply, then take in the byte."""
    return reduce(
        lambda held, byte: (held * 1099511628211) % 2**64 ^ byte, data, 14695981039346656037
    )


def test_the_hash_of_an_empty_template_is_that_of_its_type_name() -> None:
    """By hand: a struct without fields is only its name."""
    assert fnv1(b"") == 0xCBF29CE484222325
    assert fnv1(b"a") == 0xAF63BD4C8601B7BE
    assert template_hash(NEVER) == str(fnv1(b"NodeClaimTemplate"))


def test_the_hash_of_an_expiry_follows_the_rules_of_structs() -> None:
    """By hand: each field's name and value are hashed, taken in, and the whole hashed again."""

    def struct(name: str, field: str, value: int) -> int:
        pair = fnv1(fnv1(field.encode()).to_bytes(8, "little") + value.to_bytes(8, "little"))
        return fnv1((fnv1(name.encode()) ^ pair).to_bytes(8, "little"))

    nanos = fnv1((720 * 3600 * 10**9).to_bytes(8, "little"))
    expiry = struct("NillableDuration", "Duration", nanos)
    spec = struct("NodeClaimTemplateSpec", "ExpireAfter", expiry)
    assert template_hash(NodePool("x")) == str(struct("NodeClaimTemplate", "Spec", spec))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"requirements": (requirement("a", "Exists", [], None),)}, id="requirements"),
        pytest.param({"limits": {"cpu": 1}}, id="limits"),
        pytest.param({"weight": 9}, id="weight"),
        pytest.param({"replicas": 3}, id="replicas"),
        pytest.param({"disruption": Disruption(budgets=(Budget("0"),))}, id="disruption"),
        pytest.param({"name": "other"}, id="its name"),
    ],
)
def test_what_makes_no_node_drift_does_not_change_the_hash(changes: dict[str, object]) -> None:
    """Only what nodes are made from counts."""
    assert template_hash(msgspec.structs.replace(FULL, **changes)) == template_hash(FULL)


TAINTS = st.lists(
    st.builds(Taint, st.sampled_from("abc"), st.sampled_from(["", "v"])), max_size=4, unique=True
)


@given(TAINTS, st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=4))
def test_order_does_not_matter(taints: list[Taint], labels: dict[str, str]) -> None:
    """Neither of taints nor of labels."""
    one = NodePool("x", taints=tuple(taints), labels=labels)
    other = NodePool(
        "x", taints=tuple(reversed(taints)), labels=dict(reversed(list(labels.items())))
    )
    assert template_hash(one) == template_hash(other)
