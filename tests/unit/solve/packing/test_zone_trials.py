from __future__ import annotations

from collections.abc import Iterable

from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.packing.attempt import Prefer
from dovetail.solve.packing.zone_trials import best_zones
from dovetail.solve.program.relaxation import encode_schedulable, value_pods
from dovetail.solve.puzzle import canonical
from dovetail.testing.builders import deployment, instance_type, pod
from tests.unit.solve.puzzles import puzzle

ZONE = {"topology_key": "zone"}


def trial(pods: Iterable[Pod], *types: InstanceType) -> tuple[Encoded, Prefer]:
    """The problem, and where groups should go."""
    plain = encode_schedulable(canonical(puzzle(pods, *types))).plain
    return plain.enc, best_zones(plain.enc, plain.offers, value_pods(plain))


def machines(zone: str, price: float) -> tuple[InstanceType, ...]:
    """One type that is sold in one zone only."""
    return (instance_type(f"m-{zone}", cpu=4, memory="16Gi", price=price, zones=(zone,)),)


def test_pods_that_share_a_zone_go_where_all_of_them_cost_least() -> None:
    """Forty pods that make up the whole bill, in a market of two zones."""
    enc, prefer = trial(
        deployment(40, cpu=2, affinity=[ZONE]), *machines("a", 0.2), *machines("b", 0.18)
    )
    ((group, cells),) = prefer.items()
    names = [enc.market.types[offer.type].name for offer in enc.market.offers]
    cheap = int(enc.cell_o[names.index("m-b")])
    assert (group, cells) == (0, (cheap,))


def test_pods_that_hardly_matter_are_not_tried() -> None:
    """Two pods among two hundred."""
    pods = [*deployment(2, "few", cpu="100m", affinity=[ZONE]), *deployment(200, "many", cpu=2)]
    _, prefer = trial(pods, *machines("a", 0.2), *machines("b", 0.18))
    assert prefer == {}


def test_a_lone_zone_is_not_tried() -> None:
    """There is nothing to choose."""
    _, prefer = trial(deployment(40, cpu=2, affinity=[ZONE]), *machines("a", 0.2))
    assert prefer == {}


def test_free_pods_have_no_zone() -> None:
    """Nothing ties them together."""
    _, prefer = trial([pod("web", cpu=2)], *machines("a", 0.2), *machines("b", 0.18))
    assert prefer == {}


def test_with_very_many_groups_no_zone_is_tried() -> None:
    """Each trial would take as long as a plan."""
    pods = [
        *deployment(4000, "together", cpu=2, affinity=[ZONE]),
        *(pod(f"p{n:04}", cpu=f"{100 + n}m") for n in range(1000)),
    ]
    _, prefer = trial(pods, *machines("a", 0.2), *machines("b", 0.18))
    assert prefer == {}
