"""The quick replay refuses just whom the plain filters refuse, whatever was bound before."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest

from benchmarks.scenarios import diverse, fleet, tiny
from dovetail.decide import decide
from dovetail.model.snapshot import Snapshot
from tests.oracle.check import Case
from tests.oracle.replay import Replay, bind_all
from tests.oracle.scheduler import refusal

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def case_of(snapshot: Snapshot) -> Case:
    """The cluster and a plan for it."""
    return Case(snapshot, NOW, decide(snapshot, NOW))


@pytest.mark.parametrize("seed", range(40))
def test_whom_the_filters_refuse_the_replay_refuses(seed: int) -> None:
    """Pods come to chance nodes, and some are bound there against the rules."""
    chance = Random(seed)  # noqa: S311  # repeatable
    case = case_of((tiny(seed), fleet(40, seed), diverse(30, seed))[seed % 3])
    world = case.empty_world.copy()
    replay = Replay(world)
    n_refused = 0
    for pod in chance.sample(case.placed, len(case.placed)):
        planned = case.host_by_pod[pod.key]
        name = chance.choice((planned, *world.hosts))
        plain = refusal(world, pod, world.hosts[name])
        assert (replay.refusal(pod, name) is None) == (plain is None), (pod.key, name, plain)
        n_refused += plain is not None
        place = name if plain is None or chance.random() < 0.2 else planned
        world.bind(pod, place)
        replay.bind(pod, place)
    assert len(case.placed) > n_refused


def test_pods_that_are_there_already_count() -> None:
    """As if they had been bound one by one."""
    case = case_of(fleet(60, 3))
    order = [case.waiting[key] for key in case.plan.binding_order]
    world = case.empty_world.copy()
    for pod in order[:30]:
        world.bind(pod, case.host_by_pod[pod.key])
    assert bind_all(world, case.host_by_pod, order[30:]) == {}
    for pod in order[30:]:
        plain = refusal(world, pod, world.hosts[case.host_by_pod[pod.key]])
        quick = Replay(world).refusal(pod, case.host_by_pod[pod.key])
        assert (plain is None) == (quick is None)


def test_who_has_no_place_is_named_with_its_node() -> None:
    """When nobody else can be bound any more."""
    case = case_of(fleet(60, 3))
    order = [case.waiting[key] for key in case.plan.binding_order]
    everybody = dict.fromkeys(case.host_by_pod, next(iter(case.empty_world.hosts)))
    refused = bind_all(case.empty_world, everybody, order)
    assert 0 < len(refused) < len(order)
    assert all(why.startswith(f"{everybody[pod]}: ") for pod, why in refused.items())
