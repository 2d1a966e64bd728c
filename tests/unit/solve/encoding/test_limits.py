from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.model.resources import NODES
from dovetail.solve.axes import UNLIMITED
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.limits import Limits, binding_use
from dovetail.testing.builders import deployment, instance_type, node_pool, pod
from tests.unit.solve.puzzles import LARGE, SMALL, encoded


def limited(**left: int) -> Encoded:
    """One pod, two types of 2 and 8 cpu, and a pool that may still add so much."""
    return encoded([pod(cpu=1)], limits={"default": left})


def reserved(zone: str, capacity: int, name: str = "cr-1") -> dict[str, object]:
    """A reserved offering."""
    return {
        "zone": zone,
        "price": 0.001,
        "capacity_type": "reserved",
        "reservation_id": name,
        "reservation_capacity": capacity,
    }


def offer_of(enc: Encoded, kind: str) -> int:
    """The first offer of a type."""
    names = [enc.market.types[one.type].name for one in enc.market.offers]
    return names.index(kind)


@given(st.integers(-3000, 30_000), st.integers(-1, 5), st.sampled_from(["small", "large"]))
def test_so_many_nodes_may_be_opened_as_are_said_to_be(cpu: int, nodes: int, kind: str) -> None:
    """Opening one after another comes to the same number, and giving them back to the start."""
    enc = limited(**{"cpu": cpu, NODES: nodes})
    limits = Limits(enc)
    offer = offer_of(enc, kind)
    most, first = limits.most(offer), list(limits.left)
    opened = 0
    while limits.open_offers()[offer]:
        limits.take(offer, 1)
        opened += 1
        assert limits.most(offer) == most - opened
    assert opened == most
    limits.take(offer, -opened)
    assert limits.left == first


def test_limits_count_capacity_of_every_type() -> None:
    """Twenty cpu are two large nodes, or ten small ones, or one large and six small."""
    enc = limited(cpu=20_000)
    limits = Limits(enc)
    small, large = offer_of(enc, "small"), offer_of(enc, "large")
    assert (limits.most(small), limits.most(large)) == (10, 2)
    limits.take(large, 1)
    assert (limits.most(small), limits.most(large)) == (6, 1)
    assert limits.are_finite


def test_a_resource_that_a_type_has_none_of_does_not_limit_it() -> None:
    """A pool without any gpu left still launches machines without gpu."""
    enc = limited(**{"nvidia.com/gpu": 0})
    assert Limits(enc).open_offers().all()
    assert Limits(enc).most(0) == UNLIMITED


def test_a_pool_that_is_over_one_of_its_limits_launches_nothing() -> None:
    """Not even machines that have none of that resource."""
    enc = limited(**{"nvidia.com/gpu": -1})
    assert not Limits(enc).open_offers().any()
    assert Limits(enc).most(0) == 0


def test_limits_of_one_pool_leave_others_alone() -> None:
    """Each pool counts its own."""
    pools = (node_pool("one"), node_pool("two"))
    enc = encoded(
        [pod()],
        node_pools=pools,
        instance_types={"one": (SMALL,), "two": (SMALL,)},
        limits={"one": {NODES: 0}},
    )
    assert (Limits(enc).open_offers() == (enc.pool_o == 1)).all()


def test_nothing_is_finite_without_limits_and_reservations() -> None:
    """And every offer is unlimited."""
    limits = Limits(encoded([pod()]))
    assert not limits.are_finite
    assert limits.most(0) == UNLIMITED


def test_offers_of_one_reservation_draw_on_the_same_supply() -> None:
    """Two pools that name it have one reservation between them."""
    kind = instance_type("r", price=0.2, zones=("a",), offerings=[reserved("a", 3)])
    pools = (node_pool("one"), node_pool("two"))
    enc = encoded(
        [pod()],
        node_pools=pools,
        instance_types={"one": (kind,), "two": (kind,)},
        reserved_by_id={"cr-1": 1},
    )
    limits = Limits(enc)
    first, second = np.flatnonzero(enc.supply_o < UNLIMITED).tolist()
    assert (limits.most(first), limits.most(second)) == (2, 2)
    limits.take(first, 2)
    assert (limits.most(first), limits.most(second)) == (0, 0)
    assert not limits.open_offers()[[first, second]].any()
    assert limits.are_finite


def test_reservations_of_other_names_are_apart() -> None:
    """Taking one leaves the other."""
    offerings = [reserved("a", 1), reserved("b", 1, "cr-2")]
    enc = encoded([pod()], instance_type("r", price=0.2, offerings=offerings))
    limits = Limits(enc)
    first, second = np.flatnonzero(enc.supply_o < UNLIMITED).tolist()
    limits.take(first, 1)
    assert (limits.most(first), limits.most(second)) == (0, 1)


def test_rows_of_the_program_allow_what_the_limits_allow() -> None:
    """The largest type counts one, and a limit that is overdrawn is none."""
    enc = limited(cpu=20_000)
    ((weight, limit),) = Limits(enc).program_rows(np.arange(enc.n_offers))
    assert weight[offer_of(enc, "large")] == 1.0
    assert limit / weight[offer_of(enc, "small")] == pytest.approx(10.0)
    ((_, limit),) = Limits(limited(cpu=-1)).program_rows(np.arange(enc.n_offers))
    assert limit == 0.0


@pytest.mark.parametrize(
    ("left", "want"),
    [
        pytest.param({"cpu": 8000 * 8}, [], id="eight times the largest machine"),
        pytest.param({"cpu": 8000 * 8 - 1}, [[2000, 8000]], id="a little less"),
        pytest.param({NODES: 8}, [], id="eight times as many nodes as pods"),
        pytest.param({NODES: 7}, [[1, 1]], id="seven nodes for one pod"),
        pytest.param({"nvidia.com/gpu": -1}, [[1, 1]], id="over a limit that nobody needs"),
        pytest.param({"nvidia.com/gpu": 0}, [], id="none left of what nobody needs"),
        pytest.param({NODES: 7, "cpu": 9000}, [[2000, 8000], [1, 1]], id="both, in order of name"),
    ],
)
def test_a_limit_has_a_row_of_use_where_it_might_bind(
    left: dict[str, int], want: list[list[int]]
) -> None:
    """Limits that leave many times what is asked for do not count."""
    enc = limited(**left)
    places = [offer_of(enc, kind) for kind in ("small", "large")]
    assert [row[places].tolist() for row in binding_use(enc)] == want


def test_many_pods_make_a_limit_bind() -> None:
    """A hundred cpu are plenty for one pod, and few for a hundred."""
    limits = {"default": {"cpu": 100_000}}
    assert len(binding_use(encoded(deployment(100, cpu=1), SMALL, LARGE, limits=limits))) == 1
    assert not binding_use(encoded([pod(cpu=1)], SMALL, LARGE, limits=limits))


def test_a_limit_of_one_pool_is_not_used_by_another() -> None:
    """Its offers use none of it, so that the limit decides nothing between them."""
    enc = encoded(
        [pod()],
        node_pools=(node_pool("one"), node_pool("two")),
        instance_types={"one": (SMALL,), "two": (SMALL,)},
        limits={"one": {NODES: 1}},
    )
    (row,) = binding_use(enc)
    assert row.tolist() == (enc.pool_o == 0).astype(int).tolist()
