"""Tiny clusters in the words of scenarios: even seeds plausible, odd seeds wild.

A plausible cluster is what a sane user writes: a few apps, each with one or two constraints. A wild
one may combine everything with everything. Both have 2 to 8 pending pods, so that an exhaustive
search can say what the best plan is (`tests/oracle/most_placed.py`).
"""

from __future__ import annotations

from random import Random
from typing import Final

import msgspec

from dovetail.model.snapshot import Snapshot
from dovetail.testing.given import Given
from dovetail.testing.scenario import snapshot_of
from tests.fuzz.tiny_apps import plausible_apps, wild_apps
from tests.fuzz.tiny_market import ZONES, Words, one_in, plausible_pools, types, wild_pools

MOST_NODES: Final = 3
# What a pod that already runs has in common with its pending siblings.
SHARED: Final = ("labels", "cpu", "memory", "affinity", "anti_affinity")


def is_plausible(seed: int) -> bool:
    """Whether the cluster of this seed is one that a sane user could have written."""
    return seed % 2 == 0


def words_of(seed: int) -> Words:
    """The `given` of a scenario, the same for a seed on every machine."""
    found = _words(Random(seed), is_wild=not is_plausible(seed))
    return {key: value for key, value in found.items() if value}


def built(words: Words) -> Snapshot:
    """The cluster that these words describe."""
    return snapshot_of(msgspec.convert(words, Given), "tiny")


def _words(chance: Random, *, is_wild: bool) -> Words:
    zones = ZONES[: chance.randint(1, len(ZONES))]
    on_sale = types(chance, zones, is_wild=is_wild)
    if is_wild:
        pools = wild_pools(chance, on_sale, zones)
        apps = wild_apps(chance, zones)
    else:
        pools = plausible_pools(chance, on_sale, zones)
        apps = plausible_apps(chance, zones, has_taint="taints" in pools.get("second", {}))
    is_lenient = is_wild and one_in(chance, 8)
    return {
        "types": on_sale,
        "pools": pools,
        "nodes": [
            _node(chance, number, on_sale, pools, apps)
            for number in range(1, 1 + chance.choice((0, 0, 0, 1, 1, 2, MOST_NODES)))
        ],
        "pods": apps,
        "daemon_sets": _daemon_sets(chance),
        "policy": {"min_values_policy": "BestEffort"} if is_lenient else {},
    }


def _node(chance: Random, number: int, on_sale: Words, pools: Words, apps: list[Words]) -> Words:
    """A node on which some pods of the apps may run already."""
    kind = chance.choice(sorted(on_sale))
    pool = chance.choice(sorted(pools)) if not one_in(chance, 6) else ""
    pods = [
        {"name": f"{app['name']}-old-{number}"} | {key: app[key] for key in SHARED if key in app}
        for app in apps
        if one_in(chance, 3) and not set(app) & {"node_selector", "host_ports"}
    ]
    if one_in(chance, 2):
        cpu = on_sale[kind]["cpu"]
        busy = chance.choice((cpu / 2, cpu - 1, cpu - 0.5))
        pods.append({"name": f"busy-{number}", "cpu": busy, "memory": "1Gi"})
    found: Words = {
        "name": f"node-{number}",
        "pool": pool,
        "type": kind,
        "zone": chance.choice(on_sale[kind]["zones"]),
        "taints": pools.get(pool, {}).get("taints", []),
        "pods": pods,
    }
    return {key: value for key, value in found.items() if value}


def _daemon_sets(chance: Random) -> list[Words]:
    if not one_in(chance, 4):
        return []
    found: Words = {"name": "agent", "cpu": chance.choice(("50m", "200m")), "memory": "100Mi"}
    if one_in(chance, 2):
        found["tolerations"] = ["*"]
    if one_in(chance, 6):
        found["host_ports"] = [9100]
    return [found]
