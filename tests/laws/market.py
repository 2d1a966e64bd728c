"""Random things to buy: instance types, their offerings, and pools that narrow them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from dovetail import labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.model.requirements import Requirement, Requirements, requirement
from dovetail.model.taints import Effect, Taint

ZONES: Final = ("zone-a", "zone-b", "zone-c")
CPU_LABEL: Final = "karpenter.kwok.sh/instance-cpu"
FAMILY: Final = "karpenter.kwok.sh/instance-family"
TEAM: Final = "example.com/team"
RACK: Final = "example.com/rack"
TEAMS: Final = ("blue", "red")
RACKS: Final = ("r1", "r2", "r3")
GPU: Final = "nvidia.com/gpu"
DRIVER: Final = "csi.example.com"
MEBI: Final = 1 << 20
GIBI: Final = 1 << 30

DEDICATED: Final = Taint("dedicated", "batch", Effect.NO_SCHEDULE)
LEVEL: Final = Taint("level", "5", Effect.NO_EXECUTE)
MILD: Final = Taint("mild", "", Effect.PREFER_NO_SCHEDULE)
CLASS: Final = NodeClassRef(labels.KWOK_GROUP, "KWOKNodeClass", "default")
STARTING: Final = Taint("example.com/agent-not-ready", "", Effect.NO_SCHEDULE)


@dataclass(frozen=True)
class Scale:
    """How large and how spicy a cluster is. `spice` is how likely each pod constraint is."""

    most_types: int = 8
    most_zones: int = 3
    most_pools: int = 3
    most_nodes: int = 4
    most_apps: int = 5
    most_pods: int = 14
    spice: float = 0.2
    has_limits: bool = True
    has_weights: bool = True
    most_offerings: int = 20


def one_in(chance: Random, n: int) -> bool:
    """True once in n times."""
    return chance.randrange(n) == 0


def instance_types(chance: Random, scale: Scale) -> tuple[InstanceType, ...]:
    """A catalogue: a few shapes, each in some zones, on demand and spot, some of it reserved."""
    zones = ZONES[: chance.randint(1, scale.most_zones)]
    n_types = chance.randint(min(2, scale.most_types), scale.most_types)
    has_attach_limits = one_in(chance, 2)
    budget = scale.most_offerings
    found = []
    for number in range(n_types):
        kind = _instance_type(chance, number, zones, has_attach_limits=has_attach_limits)
        share = max(1, budget // (n_types - number))
        if len(kind.offerings) > share:
            kept = sorted(chance.sample(range(len(kind.offerings)), share))
            kind = InstanceType(
                name=kind.name,
                requirements=kind.requirements,
                capacity=kind.capacity,
                allocatable=kind.allocatable,
                offerings=tuple(kind.offerings[index] for index in kept),
                attach_limits=kind.attach_limits,
            )
        budget -= len(kind.offerings)
        found.append(kind)
    return tuple(found)


def _instance_type(
    chance: Random, number: int, zones: tuple[str, ...], *, has_attach_limits: bool
) -> InstanceType:
    cores = chance.choice((1, 2, 4, 4, 8, 8, 16))
    gibi = cores * chance.choice((2, 4, 8))
    gpus = chance.choice((1, 2, 4)) if one_in(chance, 6) else 0
    name = f"t{number}-{cores}x{gibi}" + (f"-g{gpus}" if gpus else "")
    capacity = {"cpu": cores * 1000, "memory": gibi * GIBI, "pods": chance.choice((4, 8, 58, 110))}
    if gpus:
        capacity[GPU] = gpus
    kept = {"cpu": chance.choice((0, 80, 100)), "memory": chance.choice((0, 100, 257)) * MEBI}
    arch = "arm64" if one_in(chance, 4) else "amd64"
    systems = ["linux", "windows"] if one_in(chance, 8) else ["linux"]
    price = cores * 40_000_000 + gibi * 5_000_000 + gpus * 500_000_000
    offerings = _offerings(chance, name, zones, price * chance.randint(90, 130) // 100)
    return InstanceType(
        name=name,
        requirements=Requirements(
            [
                requirement(labels.INSTANCE_TYPE, "In", [name]),
                requirement(labels.ARCH, "In", [arch]),
                requirement(labels.OS, "In", systems),
                requirement(labels.ZONE, "In", {one.zone for one in offerings}),
                requirement(labels.CAPACITY_TYPE, "In", {one.capacity_type for one in offerings}),
                requirement(CPU_LABEL, "In", [str(cores)]),
                requirement(FAMILY, "In", [chance.choice("cmr")]),
            ]
        ),
        capacity=capacity,
        allocatable={key: amount - kept.get(key, 0) for key, amount in capacity.items()},
        offerings=offerings,
        attach_limits={DRIVER: chance.randint(1, 3)} if has_attach_limits else {},
    )


def _offerings(
    chance: Random, name: str, zones: tuple[str, ...], price: int
) -> tuple[Offering, ...]:
    found: list[Offering] = []
    for zone in zones:
        if one_in(chance, 6) and found:
            continue
        found.append(_offering(zone, labels.ON_DEMAND, price, is_available=not one_in(chance, 10)))
        if not one_in(chance, 3):
            spot = price * chance.randint(25, 90) // 100
            found.append(_offering(zone, labels.SPOT, spot, is_available=not one_in(chance, 6)))
    if one_in(chance, 8):
        found.append(_reserved(chance, name, chance.choice(zones), price // 1000))
    return tuple(found)


def _offering(zone: str, capacity_type: str, price: int, *, is_available: bool) -> Offering:
    return Offering(
        zone=zone,
        capacity_type=capacity_type,
        price_nanousd=price,
        requirements=Requirements(
            [
                requirement(labels.ZONE, "In", [zone]),
                requirement(labels.CAPACITY_TYPE, "In", [capacity_type]),
                requirement(labels.RESERVATION_ID, "DoesNotExist"),
            ]
        ),
        is_available=is_available,
    )


def _reserved(chance: Random, name: str, zone: str, price: int) -> Offering:
    reservation = f"cr-{name}"
    return Offering(
        zone=zone,
        capacity_type=labels.RESERVED,
        price_nanousd=price,
        requirements=Requirements(
            [
                requirement(labels.ZONE, "In", [zone]),
                requirement(labels.CAPACITY_TYPE, "In", [labels.RESERVED]),
                requirement(labels.RESERVATION_ID, "In", [reservation]),
            ]
        ),
        reservation_id=reservation,
        reservation_capacity=chance.randint(1, 2),
    )


def node_pools(chance: Random, scale: Scale) -> tuple[NodePool, ...]:
    """One or more pools, most of them plain, some of them picky."""
    return tuple(_pool(chance, number, scale) for number in range(1, 1 + _n_pools(chance, scale)))


def _n_pools(chance: Random, scale: Scale) -> int:
    return min(scale.most_pools, chance.choice((1, 1, 2, 3)))


def _pool(chance: Random, number: int, scale: Scale) -> NodePool:
    if number == 1 and not one_in(chance, 3):
        return NodePool("pool-1", weight=10 if scale.has_weights else 0, uid="uid-pool-1")
    narrowing = _requirements(chance)
    says_team = any(one.key == TEAM for one in narrowing)
    taints = tuple(one for one in (DEDICATED, LEVEL, MILD) if one_in(chance, 12))
    return NodePool(
        name=f"pool-{number}",
        weight=chance.choice((0, 0, 10, 50)) if scale.has_weights else 0,
        requirements=narrowing,
        labels={TEAM: chance.choice(TEAMS)} if not says_team and one_in(chance, 6) else {},
        taints=taints,
        startup_taints=(STARTING,) if one_in(chance, 5) else (),
        limits=_limits(chance) if scale.has_limits and one_in(chance, 5) else {},
        is_ready=not one_in(chance, 25),
        replicas=1 if one_in(chance, 40) else None,
        node_class=CLASS if one_in(chance, 4) else NodeClassRef(),
        uid=f"uid-pool-{number}",
    )


def _limits(chance: Random) -> dict[str, int]:
    options = {
        "cpu": chance.randint(1, 30) * 1000,
        "memory": chance.randint(4, 120) * GIBI,
        "nodes": chance.randint(0, 4),
        GPU: chance.randint(0, 4),
    }
    kept = chance.sample(sorted(options), chance.randint(1, 2))
    return {name: options[name] for name in sorted(kept)}


def _requirements(chance: Random) -> tuple[Requirement, ...]:
    options: tuple[tuple[int, Callable[[], Requirement]], ...] = (
        (8, lambda: requirement(labels.ARCH, "In", ["amd64"])),
        (8, lambda: requirement(labels.CAPACITY_TYPE, "In", _some(chance, labels.CAPACITY_TYPES))),
        (8, lambda: requirement(labels.ZONE, chance.choice(("In", "NotIn")), _some(chance, ZONES))),
        (4, lambda: _open(chance, TEAM, TEAMS)),
        (4, lambda: _open(chance, RACK, RACKS)),
        (12, lambda: requirement(CPU_LABEL, "Gt", [chance.choice(("1", "2"))])),
        (12, lambda: requirement(CPU_LABEL, "Lt", [chance.choice(("9", "20"))])),
        (9, lambda: requirement(labels.INSTANCE_TYPE, "Exists", (), chance.randint(1, 3))),
        (12, lambda: requirement(FAMILY, "In", ["c", "m"], chance.randint(1, 2))),
    )
    return tuple(make() for odds, make in options if one_in(chance, odds))


def _open(chance: Random, key: str, values: tuple[str, ...]) -> Requirement:
    match chance.randrange(4):
        case 0:
            return requirement(key, "Exists")
        case 1:
            return requirement(key, "NotIn", [values[0]])
        case _:
            return requirement(key, "In", _some(chance, values))


def _some(chance: Random, values: tuple[str, ...]) -> list[str]:
    return sorted(chance.sample(values, chance.randint(1, len(values))))
