from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail.model.pod import Pod
from dovetail.solve.encoding.encode import encode
from dovetail.solve.finishing.promote import promote
from dovetail.solve.finishing.rescue import put_one, rescue, see
from dovetail.solve.finishing.soundness import is_sound
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.contents import loads
from dovetail.testing.builders import deployment, instance_type, node_pool
from tests.unit.solve.puzzles import arrays_of, empty_attempt, encoded, random_puzzle

ONE_ZONE = instance_type("one-zone", cpu=2, memory="8Gi", price=0.1, zones=("a",))
TWO_ZONES = instance_type("two-zones", cpu=2, memory="8Gi", price=0.1, zones=("a", "b"))
PINNED: dict[str, Any] = {"node_selector": {"tier": "light"}}


def two_pools(*pods: Pod, heavy_zones: str = "a", limit: int = 1_000_000) -> Attempt:
    """An empty plan over a heavier pool and a lighter one of both zones, which has a label."""
    pools = (
        node_pool("heavy", weight=10, labels={"tier": "heavy"}),
        node_pool("light", labels={"tier": "light"}),
    )
    kind = ONE_ZONE if heavy_zones == "a" else TWO_ZONES
    enc = encoded(
        pods,
        node_pools=pools,
        instance_types={"heavy": (kind,), "light": (TWO_ZONES,)},
        limits={"heavy": {"cpu": limit}},
    )
    return empty_attempt(enc)


def launch(attempt: Attempt, names: str, zone: str = "a", pool: str = "light") -> int:
    """Put one pod of each named deployment on a new node of a pool."""
    enc = attempt.enc
    offers = [
        number
        for number, one in enumerate(enc.market.offers)
        if enc.market.pools[one.pool].name == pool and one.offering.zone == zone
    ]
    (node,) = range(*attempt.bins.open(offers[0], 1).indices(10_000))
    see(attempt, offers[0])
    for name in names.split():
        (group,) = (
            number
            for number, one in enumerate(enc.groups)
            if any(held.name.rpartition("-")[0] == name or held.name == name for held in one.pods)
        )
        cell = int(attempt.bins.cell[node])
        attempt.settler.record(group, cell, 1)
        put_one(attempt, group, cell, node)
    return node


def pools_of(attempt: Attempt) -> dict[str, int]:
    """How many pods the new nodes of each pool hold."""
    found: dict[str, int] = {}
    for node, held in loads(attempt.bins.log).items():
        one = attempt.enc.market.offers[int(attempt.bins.offer[node])]
        name = attempt.enc.market.pools[one.pool].name
        found[name] = found.get(name, 0) + sum(held.values())
    return found


def remembered(attempt: Attempt) -> list[object]:
    """All that a plan knows, to be compared."""
    bins, state = attempt.bins, attempt.settler.state
    zones = [
        part.tolist()
        for kind in (state.match, state.own, state.seen, state.foreseen)
        for part in kind
    ]
    units = sorted((unit.count, sorted(unit.members)) for unit in attempt.units if unit.count)
    return [
        arrays_of(bins),
        bins.dead[: bins.n].tolist(),
        {node: dict(held) for node, held in loads(attempt.bins.log).items()},
        list(bins.limits.left),
        bins.limits.supply.tolist(),
        list(attempt.steps),
        sorted(attempt.leaned_on),
        units,
        zones,
    ]


def test_a_pod_leaves_a_lighter_pool_for_a_heavier_one() -> None:
    """The node that it leaves is not launched. It does not matter that it was placed in bulk."""
    attempt = two_pools(*deployment(2, "web", cpu=1))
    node = launch(attempt, "web web")
    attempt.steps.clear()
    assert promote(attempt)
    assert pools_of(attempt) == {"heavy": 2}
    assert attempt.bins.dead[node]
    assert not promote(attempt)


def test_one_pool_weighs_nothing() -> None:
    """Where all pools weigh the same, nobody moves."""
    attempt = empty_attempt(encoded(deployment(1, "web")))
    assert not promote(attempt)


def test_only_so_many_move_as_limits_allow() -> None:
    """One node of 2 cpu is all that the heavier pool may launch."""
    attempt = two_pools(*deployment(4, "web", cpu=1), limit=3000)
    launch(attempt, "web web")
    launch(attempt, "web web")
    assert promote(attempt)
    assert pools_of(attempt) == {"heavy": 2, "light": 2}


HOST = {"topology_key": "hostname"}
ZONE = {"topology_key": "zone"}
WEB = {"selector": {"app": "web"}}


@pytest.mark.parametrize(
    ("others", "layout", "want"),
    [
        pytest.param(
            deployment(1, "friend", **PINNED, affinity=[{**HOST, **WEB}]),
            [("web friend", "b")],
            {"light": 2},
            id="company on the node",
        ),
        pytest.param(
            deployment(1, "friend", **PINNED, affinity=[{**ZONE, **WEB}]),
            [("web", "b"), ("friend", "b")],
            {"light": 2},
            id="company in the zone",
        ),
        pytest.param(
            [
                *deployment(2, "even", labels={"app": "web"}, spread=[ZONE], **PINNED),
                *deployment(1, "other", **PINNED),
            ],
            [("web", "b"), ("even even", "a"), ("other", "b")],
            {"light": 4},
            id="a spread over zones",
        ),
        pytest.param(
            deployment(3, "even", **PINNED, spread=[{**HOST, **WEB}]),
            [("web even", "b"), ("web web even even", "b")],
            {"heavy": 3, "light": 3},
            id="a spread over hosts",
        ),
    ],
)
def test_a_pod_that_others_count_on_stays(
    others: list[Pod], layout: list[tuple[str, str]], want: dict[str, int]
) -> None:
    """A place in a heavier pool would leave others without what they need; so all is as it was."""
    attempt = two_pools(*deployment(3, "web", cpu="100m"), *others)
    for names, zone in layout:
        launch(attempt, names, zone)
    before = remembered(attempt)
    has_moved = promote(attempt)
    assert pools_of(attempt) == want
    assert has_moved or remembered(attempt) == before


def test_whoever_may_be_the_first_needs_no_company() -> None:
    """One of two pods of a kind that would like company leaves; the other starts alone."""
    pair = deployment(1, "pair", labels={"app": "web"}, **PINNED, affinity=[HOST])
    attempt = two_pools(*deployment(1, "web"), *pair)
    launch(attempt, "web pair")
    assert promote(attempt)
    assert pools_of(attempt) == {"heavy": 1, "light": 1}


def test_a_place_on_a_planned_node_is_given_back_too() -> None:
    """A friend that stays behind without company is reason enough; company elsewhere is none."""
    friend = deployment(1, "friend", **PINNED, affinity=[{**HOST, **WEB}])
    attempt = two_pools(*deployment(2, "web"), *deployment(1, "other"), *friend)
    launch(attempt, "other", pool="heavy")
    launch(attempt, "web friend")
    before = remembered(attempt)
    assert not promote(attempt)
    assert remembered(attempt) == before
    launch(attempt, "web")
    assert promote(attempt)
    assert pools_of(attempt) == {"heavy": 2, "light": 2}


def test_random_plans_stay_sound() -> None:
    """Nobody is lost, no law of a node is broken, and no pod goes to a lighter pool."""
    n_moved = 0
    for seed in range(200):
        enc = encode(random_puzzle(seed))
        attempt = empty_attempt(enc)
        if len(attempt.weights) < 2:
            continue
        attempt.unsettled = dict(enumerate(enc.count_g.tolist()))
        attempt.weights.reverse()  # as wrong as can be
        rescue(attempt)
        attempt.weights.reverse()
        assert is_sound(attempt), f"seed {seed}"
        weights = _weights(attempt)
        n_moved += promote(attempt)
        assert is_sound(attempt), f"seed {seed}"
        after = _weights(attempt)
        assert len(after) == len(weights), f"seed {seed}"
        assert all(after >= weights), f"seed {seed}"
    assert n_moved > 20


def _weights(attempt: Attempt) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    found = []
    for node, held in loads(attempt.bins.log).items():
        found += [int(attempt.bins.weight[node])] * sum(held.values())
    return np.array(sorted(found), dtype=np.int64)
