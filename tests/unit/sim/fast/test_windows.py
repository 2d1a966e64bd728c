from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dovetail.model.plan import Plan
from dovetail.sim.fast.windows import Agenda, Rhythm, Windows

START = datetime(2026, 1, 1, tzinfo=UTC)
RHYTHM = Rhythm(calm=timedelta(seconds=30), looks_every=timedelta(minutes=5))


class Decisions:
    """What was decided when: seconds since the start, and whether disruption was thought about."""

    def __init__(self, rhythm: Rhythm, *plans: Plan, n_nodes: int = 0) -> None:
        self.agenda = Agenda(START)
        self.seen: list[tuple[float, bool]] = []
        self._plans = list(plans)
        self._n_nodes = n_nodes
        self.windows = Windows(self.agenda, rhythm, self._decide)

    def _decide(self, looks: bool) -> tuple[Plan, int]:  # noqa: FBT001  as windows call it
        self.seen.append((self.agenda.elapsed.total_seconds(), looks))
        return self._plans.pop(0) if self._plans else Plan(), self._n_nodes

    def touch(self, seconds: float, *, is_waiting: bool) -> None:
        """Something changes then."""
        at = timedelta(seconds=seconds)
        self.agenda.since_start(at, lambda: self.windows.touch(is_waiting=is_waiting))

    def after(self, seconds: float) -> list[tuple[float, bool]]:
        """All that was decided up to then."""
        self.agenda.run_until(START + timedelta(seconds=seconds))
        return self.seen


def waking(seconds: float) -> Plan:
    """A plan that asks to be asked again."""
    return Plan(wake_at=START + timedelta(seconds=seconds))


def test_between_two_looks_waiting_pods_are_decided_upon_alone() -> None:
    """The pods of the second minute get nodes, and disruption is thought about when it is due."""
    held = Decisions(RHYTHM)
    held.touch(0, is_waiting=True)
    held.touch(60, is_waiting=True)
    assert held.after(3600) == [(1, True), (61, False), (301, True)]


def test_changes_without_pods_wait_for_the_next_look() -> None:
    """The first is gathered for half a minute, the second until the rest is over."""
    held = Decisions(RHYTHM)
    held.touch(0, is_waiting=False)
    held.touch(40, is_waiting=False)
    assert held.after(3600) == [(30, True), (330, True)]


def test_a_plan_that_wants_to_be_asked_again_waits_until_the_rest_is_over() -> None:
    """However early it wanted to be asked."""
    held = Decisions(RHYTHM, waking(45), waking(900))
    held.touch(0, is_waiting=False)
    assert held.after(3600) == [(30, True), (330, True), (900, True)]


def test_the_more_nodes_there_are_the_longer_is_the_rest() -> None:
    """What a look takes grows with them."""
    rhythm = Rhythm(
        looks_every=timedelta(seconds=60), rests_per_node=timedelta(seconds=1), calm=timedelta(0)
    )
    for n_nodes, want in ((10, 60), (500, 500)):
        held = Decisions(rhythm, n_nodes=n_nodes)
        held.touch(0, is_waiting=False)
        held.touch(1, is_waiting=False)
        assert held.after(3600) == [(0, True), (want, True)]


def test_without_a_rest_every_decision_looks_and_wakes_as_it_wants() -> None:
    """The way a live controller does it."""
    held = Decisions(Rhythm(), waking(5), waking(8))
    held.touch(0, is_waiting=True)
    held.touch(6.5, is_waiting=False)
    held.touch(20, is_waiting=False)
    assert held.after(60) == [(1, True), (5, True), (8, True), (30, True)]
