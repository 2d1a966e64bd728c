"""Random things that a tiny cluster can buy, in the words of scenarios: types and pools."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

Words = dict[str, Any]

ZONES: Final = ("a", "b", "c")
DEDICATED: Final = "dedicated=batch:NoSchedule"
CHOICE: Final = {"requirement": "instance-type Exists", "min_values": 2}


def one_in(chance: Random, n: int) -> bool:
    """True once in n times."""
    return chance.randrange(n) == 0


def types(chance: Random, zones: tuple[str, ...], *, is_wild: bool) -> Words:
    """Two to six types, mostly at a price that fits their size; few are reserved."""
    shapes = [(cpu, ratio) for cpu in (2, 4, 8, 16) for ratio in (2, 4, 8)]
    has_spot, keeps_some = one_in(chance, 2), one_in(chance, 2)
    found: Words = {}
    for cpu, ratio in sorted(chance.sample(shapes, chance.randint(2, 6))):
        price = (cpu * 0.04 + cpu * ratio * 0.005) * chance.randint(85, 140 if is_wild else 110)
        one: Words = {"cpu": cpu, "memory": f"{cpu * ratio}Gi", "price": round(price / 100, 4)}
        one["zones"] = _sold_in(chance, zones, is_wild=is_wild)
        if has_spot and not one_in(chance, 3):
            one["spot"] = round(one["price"] * chance.randint(30, 80) / 100, 4)
        if keeps_some:
            one["overhead"] = {"cpu": "100m", "memory": "200Mi"}
        if is_wild and one_in(chance, 4):
            one["pods"] = chance.choice((2, 3, 5))
        if one_in(chance, 8 if is_wild else 25):
            _reserve(chance, one, f"cr-{cpu}-{ratio}")
        found[f"{'cmr'[(2, 4, 8).index(ratio)]}{cpu}"] = one
    return found


def _sold_in(chance: Random, zones: tuple[str, ...], *, is_wild: bool) -> list[str]:
    if len(zones) == 1 or not one_in(chance, 3 if is_wild else 6):
        return list(zones)
    return sorted(chance.sample(zones, len(zones) - 1))


def _reserve(chance: Random, kind: Words, name: str) -> None:
    """Reserve one or two in some zone; half the time there are no others."""
    kind["offerings"] = [
        {
            "zone": chance.choice(kind["zones"]),
            "price": round(kind["price"] / 1000, 6),
            "capacity_type": "reserved",
            "reservation_id": name,
            "reservation_capacity": chance.randint(1, 2),
        }
    ]
    if one_in(chance, 2):
        del kind["price"]
        kind.pop("spot", None)


def _limits(chance: Random) -> Words:
    options = {
        "cpu": chance.choice((2, 4, 6, 8, 12, 16, 24)),
        "memory": chance.choice(("8Gi", "16Gi", "24Gi", "40Gi", "64Gi")),
        "nodes": chance.choice((1, 1, 2, 3)),
    }
    kept = chance.sample(sorted(options), 2 if one_in(chance, 5) else 1)
    return {name: options[name] for name in sorted(kept)}


def plausible_pools(chance: Random, on_sale: Words, zones: tuple[str, ...]) -> Words:
    """One pool that takes everything, perhaps with limits, and sometimes a second one."""
    found: Words = {"default": {}}
    if one_in(chance, 3):
        found["default"]["limits"] = _limits(chance)
    if one_in(chance, 20):
        found["default"]["requirements"] = [CHOICE]
    if one_in(chance, 3):
        found["second"] = _second(chance, on_sale, zones)
    return found


def _second(chance: Random, on_sale: Words, zones: tuple[str, ...]) -> Words:
    specials: tuple[Words, ...] = (
        {},
        {"taints": [DEDICATED]},
        {"requirements": ["capacity-type In on-demand"]},
        {"requirements": [f"zone In {chance.choice(zones)}"]},
        {"types": sorted(chance.sample(sorted(on_sale), len(on_sale) // 2))},
    )
    found = dict(chance.choice(specials))
    if one_in(chance, 2):
        found["limits"] = _limits(chance)
    if one_in(chance, 2):
        found["weight"] = 10
    return found


def wild_pools(chance: Random, on_sale: Words, zones: tuple[str, ...]) -> Words:
    """Up to three pools with anything."""
    has_weights = one_in(chance, 2)
    return {
        f"pool-{number + 1}": _wild_pool(chance, on_sale, zones, has_weights=has_weights)
        for number in range(chance.choice((1, 1, 2, 2, 3)))
    }


def _wild_pool(
    chance: Random, on_sale: Words, zones: tuple[str, ...], *, has_weights: bool
) -> Words:
    kept = sorted(chance.sample(sorted(on_sale), chance.randint(1, len(on_sale))))
    found: Words = {
        "limits": _limits(chance) if one_in(chance, 2) else {},
        "weight": chance.choice((0, 10, 50)) if has_weights else 0,
        "taints": [DEDICATED] if one_in(chance, 5) else [],
        "types": kept if one_in(chance, 3) else [],
        "requirements": _wild_requirements(chance, zones),
    }
    return {key: value for key, value in found.items() if value}


def _wild_requirements(chance: Random, zones: tuple[str, ...]) -> list[str | Words]:
    some = sorted(chance.sample(zones, chance.randint(1, len(zones))))
    options: tuple[tuple[int, Callable[[], str | Words]], ...] = (
        (4, lambda: f"zone In {', '.join(some)}"),
        (8, lambda: f"capacity-type In {chance.choice(('spot', 'on-demand', 'reserved'))}"),
        (10, lambda: CHOICE),
    )
    return [make() for odds, make in options if one_in(chance, odds)]
