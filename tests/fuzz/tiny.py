"""Tiny clusters in the words of scenarios: even seeds plausible, odd seeds wild.

A plausible cluster is what a sane user writes: a few apps, each with one or two constraints. A wild
one may combine everything with everything. Both have 2 to 8 pending pods, so that an exhaustive
search can say what the best plan is (`tests/oracle/most_placed.py`).
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

import msgspec

from dovetail.model.snapshot import Snapshot
from dovetail.testing.border import snapshot_of
from dovetail.testing.given import Given

Words = dict[str, Any]

ZONES: Final = ("a", "b", "c")
KEYS: Final = ("hostname", "zone")
DEDICATED: Final = "dedicated=batch:NoSchedule"
NAMES: Final = ("api", "batch", "cache", "db", "etl", "web")
FEWEST_PODS: Final = 2
MOST_PODS: Final = 8
MOST_NODES: Final = 3
PLAIN_CPU: Final = ("100m", "250m", "500m", "500m", 1, 1, "1500m", 2, 3)
PLAIN_MEMORY: Final = ("128Mi", "256Mi", "512Mi", "1Gi", "1Gi", "2Gi", "4Gi", "7Gi")
WILD_CPU: Final = (0, "50m", "500m", 1, "1900m", 2, 3, "3500m", 7)
WILD_MEMORY: Final = (0, "64Mi", "1Gi", "3Gi", "7Gi", "15Gi")


def is_plausible(seed: int) -> bool:
    """Whether the cluster of this seed is one that a sane user could have written."""
    return seed % 2 == 0


def words_of(seed: int) -> Words:
    """The `given` of a scenario, the same for a seed on every machine."""
    chance = Random(seed)
    found = _plausible(chance) if is_plausible(seed) else _wild(chance)
    return {key: value for key, value in found.items() if value}


def built(words: Words) -> Snapshot:
    """The cluster that these words describe."""
    return snapshot_of(msgspec.convert(words, Given), "tiny")


def one_in(chance: Random, n: int) -> bool:
    """True once in n times."""
    return chance.randrange(n) == 0


# ------------------------------------------------------------------ what can be bought


def _types(chance: Random, zones: tuple[str, ...], *, is_wild: bool) -> Words:
    shapes = [(cpu, ratio) for cpu in (2, 4, 8, 16) for ratio in (2, 4, 8)]
    has_spot, keeps_some = one_in(chance, 2), one_in(chance, 2)
    found: Words = {}
    for cpu, ratio in sorted(chance.sample(shapes, chance.randint(2, 6))):
        price = (cpu * 0.04 + cpu * ratio * 0.005) * chance.randint(85, 140 if is_wild else 110)
        one: Words = {"cpu": cpu, "memory": f"{cpu * ratio}Gi", "price": round(price / 100, 4)}
        one["zones"] = list(zones)
        if len(zones) > 1 and one_in(chance, 3 if is_wild else 6):
            one["zones"] = sorted(chance.sample(zones, len(zones) - 1))
        if has_spot and not one_in(chance, 3):
            one["spot"] = round(one["price"] * chance.randint(30, 80) / 100, 4)
        if keeps_some:
            one["overhead"] = {"cpu": "100m", "memory": "200Mi"}
        if is_wild and one_in(chance, 4):
            one["pods"] = chance.choice((2, 3, 5))
        if one_in(chance, 8):
            one["offerings"] = [_reserved(chance, f"cr-{cpu}-{ratio}", one)]
            if one_in(chance, 2):
                del one["price"]
                one.pop("spot", None)
        found[f"{'cmr'[(2, 4, 8).index(ratio)]}{cpu}"] = one
    return found


def _reserved(chance: Random, name: str, kind: Words) -> Words:
    return {
        "zone": chance.choice(kind["zones"]),
        "price": round(kind["price"] / 1000, 6),
        "capacity_type": "reserved",
        "reservation_id": name,
        "reservation_capacity": chance.randint(1, 2),
    }


def _limits(chance: Random) -> Words:
    options = {
        "cpu": chance.choice((2, 4, 6, 8, 12, 16, 24)),
        "memory": chance.choice(("8Gi", "16Gi", "24Gi", "40Gi", "64Gi")),
        "nodes": chance.choice((1, 1, 2, 3)),
    }
    kept = chance.sample(sorted(options), 2 if one_in(chance, 5) else 1)
    return {name: options[name] for name in sorted(kept)}


def _plausible_pools(chance: Random, types: Words, zones: tuple[str, ...]) -> Words:
    found: Words = {"default": {}}
    if one_in(chance, 3):
        found["default"]["limits"] = _limits(chance)
    if one_in(chance, 3):
        second: Words = {}
        match chance.randrange(5):
            case 0:
                second["taints"] = [DEDICATED]
            case 1:
                second["requirements"] = ["capacity-type In on-demand"]
            case 2:
                second["requirements"] = [f"zone In {chance.choice(zones)}"]
            case 3:
                second["types"] = sorted(chance.sample(sorted(types), len(types) // 2))
        if one_in(chance, 2):
            second["limits"] = _limits(chance)
        if one_in(chance, 2):
            second["weight"] = 10
        found["second"] = second
    if one_in(chance, 20):
        kept = found["default"].get("requirements", [])
        wish = {"requirement": "instance-type Exists", "min_values": chance.choice((2, 2, 3))}
        found["default"]["requirements"] = [*kept, wish]
    return found


def _wild_pools(chance: Random, types: Words, zones: tuple[str, ...]) -> Words:
    found: Words = {}
    has_weights = one_in(chance, 2)
    for number in range(chance.choice((1, 1, 2, 2, 3))):
        one: Words = {}
        if one_in(chance, 2):
            one["limits"] = _limits(chance)
        if has_weights:
            one["weight"] = chance.choice((0, 10, 50))
        if one_in(chance, 4):
            one["taints"] = [DEDICATED]
        if one_in(chance, 3):
            one["types"] = sorted(chance.sample(sorted(types), chance.randint(1, len(types))))
        wishes: list[str | Words] = []
        if one_in(chance, 4):
            some = sorted(chance.sample(zones, chance.randint(1, len(zones))))
            wishes.append(f"zone In {', '.join(some)}")
        if one_in(chance, 5):
            wishes.append(f"capacity-type In {chance.choice(('spot', 'on-demand', 'reserved'))}")
        if one_in(chance, 10):
            wishes.append({"requirement": "instance-type Exists", "min_values": 2})
        one["requirements"] = wishes
        found[f"pool-{number + 1}"] = {key: value for key, value in one.items() if value}
    return found


# ------------------------------------------------------------------ what is there


def _nodes(chance: Random, types: Words, pools: Words, apps: list[Words]) -> list[Words]:
    """Up to three nodes, on which some pods of the apps may run already."""
    found = []
    for number in range(chance.choice((0, 0, 0, 1, 1, 2, MOST_NODES))):
        kind = chance.choice(sorted(types))
        pool = chance.choice(sorted(pools))
        one: Words = {
            "name": f"node-{number + 1}",
            "type": kind,
            "zone": chance.choice(types[kind]["zones"]),
        }
        if not one_in(chance, 6):
            one["pool"] = pool
            one["taints"] = pools[pool].get("taints", [])
        one["pods"] = [
            _running(app, number)
            for app in apps
            if one_in(chance, 3) and not set(app) & {"node_selector", "host_ports"}
        ]
        cpu = types[kind]["cpu"]
        if one_in(chance, 2):
            busy = chance.choice((cpu / 2, cpu - 1, cpu - 0.5))
            one["pods"].append({"name": f"busy-{number + 1}", "cpu": busy, "memory": "1Gi"})
        found.append({key: value for key, value in one.items() if value})
    return found


def _running(app: Words, number: int) -> Words:
    carried = {"name": f"{app['name']}-old-{number + 1}", "labels": app["labels"]}
    kept = {key: app[key] for key in ("cpu", "memory", "affinity", "anti_affinity") if key in app}
    return {**carried, **kept}


def _daemon_sets(chance: Random) -> list[Words]:
    if not one_in(chance, 4):
        return []
    one: Words = {"name": "agent", "cpu": chance.choice(("50m", "200m")), "memory": "100Mi"}
    if one_in(chance, 2):
        one["tolerations"] = ["*"]
    if one_in(chance, 6):
        one["host_ports"] = [9100]
    return [one]


# ------------------------------------------------------------------ plausible apps


def _plausible(chance: Random) -> Words:
    zones = ZONES[: chance.randint(1, 3)]
    types = _types(chance, zones, is_wild=False)
    pools = _plausible_pools(chance, types, zones)
    apps = _plausible_apps(chance, zones, has_taint="taints" in pools.get("second", {}))
    return {
        "types": types,
        "pools": pools,
        "nodes": _nodes(chance, types, pools, apps),
        "pods": apps,
        "daemon_sets": _daemon_sets(chance),
    }


def _plausible_apps(chance: Random, zones: tuple[str, ...], *, has_taint: bool) -> list[Words]:
    names = chance.sample(NAMES, 4)
    apps: list[Words] = []
    left = chance.randint(FEWEST_PODS, MOST_PODS)
    while left > 0 and names:
        one = _app(chance, names.pop(), min(left, chance.choice((1, 1, 2, 2, 3, 4))))
        others = [app["name"] for app in apps]
        _constrain(chance, one, others, zones)
        if has_taint and one_in(chance, 2):
            one["tolerations"] = [DEDICATED]
        left -= one["replicas"]
        apps.append(one)
    if one_in(chance, 5):
        chance.choice(apps)["priority"] = 100
    if len(apps) > 1 and one_in(chance, 10):
        # Two that want each other on the same host.
        first, second = apps[0], apps[1]
        first["affinity"] = [_term("hostname", second["name"])]
        second["affinity"] = [_term("hostname", first["name"])]
    return apps


def _app(chance: Random, name: str, replicas: int) -> Words:
    return {
        "name": name,
        "labels": {"app": name},
        "replicas": replicas,
        "cpu": chance.choice(PLAIN_CPU),
        "memory": chance.choice(PLAIN_MEMORY),
    }


def _term(key: str, app: str) -> Words:
    return {"topology_key": key, "selector": {"app": app}}


def _constrain(chance: Random, app: Words, others: list[str], zones: tuple[str, ...]) -> None:
    """None, one or two of the constraints that people write."""
    name = app["name"]
    for _ in range(chance.choice((0, 1, 1, 2))):
        match chance.randrange(9 if others else 6):
            case 0:
                app["spread"] = [{"topology_key": "zone"}]
            case 1:
                app["spread"] = [{"topology_key": "hostname"}]
            case 2:
                app["anti_affinity"] = [_term(chance.choice(("hostname", *KEYS)), name)]
            case 3:
                app["affinity"] = [_term(chance.choice(KEYS), name)]
            case 4:
                app["node_selector"] = {"zone": chance.choice(zones)}
            case 5:
                app["host_ports"] = [8080]
            case 6 | 7:
                app["affinity"] = [_term(chance.choice(KEYS), chance.choice(others))]
            case _:
                app["anti_affinity"] = [_term(chance.choice(KEYS), chance.choice(others))]


# ------------------------------------------------------------------ wild apps


def _wild(chance: Random) -> Words:
    zones = ZONES[: chance.randint(1, 3)]
    types = _types(chance, zones, is_wild=True)
    pools = _wild_pools(chance, types, zones)
    apps = _wild_apps(chance, zones)
    return {
        "types": types,
        "pools": pools,
        "nodes": _nodes(chance, types, pools, apps),
        "pods": apps,
        "daemon_sets": _daemon_sets(chance),
        "policy": {"min_values_policy": "BestEffort"} if one_in(chance, 8) else {},
    }


def _wild_apps(chance: Random, zones: tuple[str, ...]) -> list[Words]:
    left = chance.randint(FEWEST_PODS, MOST_PODS)
    names = chance.sample(NAMES, chance.randint(1, 5))
    spice = chance.choice((0.15, 0.3, 0.5))
    apps: list[Words] = []
    for name in names:
        if left <= 0:
            break
        one = _app(chance, name, min(left, chance.choice((1, 1, 1, 2, 2, 3, 4))))
        one["cpu"], one["memory"] = chance.choice(WILD_CPU), chance.choice(WILD_MEMORY)
        one["labels"] = {"app": name, "tier": chance.choice(("front", "back"))}
        one |= _wild_constraints(chance, name, names, zones, spice)
        left -= one["replicas"]
        apps.append(one)
    if left > 0 and len(apps) == 1:
        apps[0]["replicas"] += 1
    return apps


def _wild_constraints(
    chance: Random, name: str, names: list[str], zones: tuple[str, ...], spice: float
) -> Words:
    def maybe(share: float = 1.0) -> bool:
        return chance.random() < spice * share

    def terms() -> list[Words]:
        return [_wild_term(chance, names) for _ in range(chance.choice((1, 1, 1, 2)))]

    found: Words = {}
    if maybe():
        found["affinity"] = terms()
    if maybe():
        found["anti_affinity"] = terms()
    if maybe(0.7):
        found["spread"] = [_wild_spread(chance, name, names)]
    if maybe(0.4):
        found["host_ports"] = [chance.choice((8080, 8080, 9100))]
    if maybe(0.5):
        found["node_selector"] = {"zone": chance.choice(zones)}
    elif maybe(0.3):
        some = chance.choice(("spot", "on-demand", "reserved"))
        found["node_selector"] = {"capacity-type": some}
    elif maybe(0.3):
        found["node_affinity"] = [[f"zone NotIn {chance.choice(zones)}"]]
    if one_in(chance, 2):
        found["tolerations"] = [DEDICATED]
    if one_in(chance, 4):
        found["priority"] = chance.choice((10, 100))
    return found


def _selector(chance: Random, names: list[str]) -> Words | list[str]:
    match chance.randrange(6):
        case 0:
            return {"tier": chance.choice(("front", "back"))}
        case 1:
            return [f"app NotIn {chance.choice(names)}"]
        case _:
            return {"app": chance.choice(names)}


def _wild_term(chance: Random, names: list[str]) -> Words:
    return {"topology_key": chance.choice(KEYS), "selector": _selector(chance, names)}


def _wild_spread(chance: Random, name: str, names: list[str]) -> Words:
    one: Words = {"topology_key": chance.choice(KEYS), "max_skew": chance.choice((1, 1, 2))}
    one["selector"] = {"app": name} if not one_in(chance, 3) else _selector(chance, names)
    if one_in(chance, 4):
        one["min_domains"] = chance.choice((2, 3))
    if one_in(chance, 6):
        one["node_taints_policy"] = "Honor"
    return one
