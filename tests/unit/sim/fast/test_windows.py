from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dovetail.model.ledger import Proposal
from dovetail.model.plan import Plan
from dovetail.sim.fast.agenda import Agenda
from dovetail.sim.fast.windows import Rhythm, Windows

START = datetime(2026, 1, 1, tzinfo=UTC)
RHYTHM = Rhythm(calm=timedelta(seconds=30), looks_every=timedelta(minutes=5))


class Decisions:
    """What was decided when: seconds since the start, and whether disruption was thought about."""

    def __init__(self, rhythm: Rhythm, *plans: Plan) -> None:
        self.agenda = Agenda(START)
        self.seen: list[tuple[float, bool]] = []
        self._plans = list(plans)
        self.windows = Windows(self.agenda, rhythm, self._decide)

    def _decide(self, looks: bool) -> Plan:  # noqa: FBT001  as windows call it
        self.seen.append((self.agenda.elapsed.total_seconds(), looks))
        return self._plans.pop(0) if self._plans else Plan()

    def touch(self, seconds: float, *, is_waiting: bool) -> None:
        """Something changes then."""
        at = timedelta(seconds=seconds)
        self.agenda.since_start(at, lambda: self.windows.touched(is_waiting=is_waiting))

    def after(self, seconds: float) -> list[tuple[float, bool]]:
        """All that was decided up to then."""
        self.agenda.run_until(START + timedelta(seconds=seconds))
        return self.seen


def waking(seconds: float, *proposals: Proposal) -> Plan:
    """A plan that asks to be asked again."""
    return Plan(wake_at=START + timedelta(seconds=seconds), proposals=proposals)


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


def test_what_a_look_proposes_is_confirmed_before_the_rest_is_over() -> None:
    """Once; what the confirming look proposes has to wait."""
    one = Proposal("Empty", "n1", START)
    held = Decisions(RHYTHM, waking(45, one), waking(60, one))
    held.touch(0, is_waiting=False)
    assert held.after(400) == [(30, True), (45, True), (330, True)]


def test_a_plan_that_proposes_nothing_wakes_when_the_rest_is_over() -> None:
    """However early it wanted to be asked."""
    held = Decisions(RHYTHM, waking(45), waking(900))
    held.touch(0, is_waiting=False)
    assert held.after(3600) == [(30, True), (330, True), (900, True)]


def test_without_a_rest_every_decision_looks_and_wakes_as_it_wants() -> None:
    """The way a live controller does it."""
    held = Decisions(Rhythm(), waking(5), waking(8))
    held.touch(0, is_waiting=True)
    held.touch(6.5, is_waiting=False)
    held.touch(20, is_waiting=False)
    assert held.after(60) == [(1, True), (5, True), (8, True), (30, True)]
