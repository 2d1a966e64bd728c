"""What the page is told: everything once, then what changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.testing import instance_type, node, node_pool, pod, snapshot
from dovetail.web.dashboard.lookout import Lookout, explain_deed

NOW = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
SMALL = instance_type("small", cpu=2, memory="8Gi", price=0.10, zones=("a",))
NODES = tuple(
    node(f"n{number}", pool="default", type="small", zone="a", types=(SMALL,))
    for number in range(3)
)
CLUSTER = snapshot(
    pods=[pod("p", cpu=1, node="n1")], nodes=NODES, node_pools=[node_pool()],
    types=(SMALL,),
)  # fmt: skip


def test_the_first_look_shows_every_node_and_the_next_none() -> None:
    """As long as nothing changes."""
    lookout = Lookout()
    assert lookout.whole() is None
    assert [one.name for one in lookout.look(CLUSTER, NOW).nodes] == ["n0", "n1", "n2"]
    again = lookout.look(CLUSTER, NOW + timedelta(seconds=1))
    assert (again.nodes, again.gone, again.waiting, again.types) == ((), (), None, None)


def test_only_a_node_whose_pods_changed_is_told_again() -> None:
    """And a node that went is told by its name."""
    lookout = Lookout()
    lookout.look(CLUSTER, NOW)
    more = msgspec.structs.replace(
        CLUSTER, pods=(*CLUSTER.pods, pod("q", node="n2")), nodes=CLUSTER.nodes[1:]
    )
    change = lookout.look(more, NOW)
    assert [one.name for one in change.nodes] == ["n2"]
    assert change.gone == ("n0",)
    assert change.totals.nodes == 2


def test_whoever_comes_is_told_everything_but_what_the_next_change_tells() -> None:
    """A decision of the meantime is not told twice."""
    lookout = Lookout()
    waiting = msgspec.structs.replace(CLUSTER, pods=(pod("w", cpu=2),), nodes=())
    lookout.look(waiting, NOW)
    lookout.note_plan(waiting, decide(waiting, NOW), NOW, 0.1)
    whole = lookout.whole()
    assert whole is not None
    assert whole.is_whole
    assert whole.entries == ()
    assert [one.deed.kind for one in lookout.look(waiting, NOW).entries] == ["launch"]
    again = lookout.whole()
    assert again is not None
    assert len(again.entries) == 1


def test_a_decision_that_does_nothing_is_no_line() -> None:
    """Nor are pods again that still cannot be placed."""
    lookout = Lookout()
    lookout.note_plan(CLUSTER, Plan(), NOW, 0.1)
    assert lookout.look(CLUSTER, NOW).entries == ()
    stuck = msgspec.structs.replace(CLUSTER, pods=(pod("huge", cpu=900),))
    for _ in range(2):
        lookout.note_plan(stuck, decide(stuck, NOW), NOW, 0.1)
    assert len(lookout.look(stuck, NOW).entries) == 1


def test_pods_that_are_still_stuck_are_no_news_when_another_finds_a_place() -> None:
    """Only a pod that was not stuck before is worth a line."""
    lookout = Lookout()
    both = msgspec.structs.replace(CLUSTER, pods=(pod("v", cpu=99), pod("w", cpu=99)))
    one = msgspec.structs.replace(both, pods=both.pods[:1])
    for cluster, n_lines in ((both, 1), (one, 0), (both, 1)):
        lookout.note_plan(cluster, decide(cluster, NOW), NOW, 0.1)
        assert len(lookout.look(cluster, NOW).entries) == n_lines


def test_more_lines_than_are_remembered_do_not_confuse_whoever_comes() -> None:
    """They are told at the next look, and not before."""
    lookout = Lookout()
    lookout.note(NOW, "old")
    lookout.look(CLUSTER, NOW)
    for number in range(301):
        lookout.note(NOW, f"news {number}")
    whole = lookout.whole()
    assert whole is not None
    assert whole.entries == ()


def test_a_line_can_be_asked_about_by_decision_and_place() -> None:
    """One that was never made cannot."""
    lookout = Lookout()
    waiting = msgspec.structs.replace(CLUSTER, pods=(pod("w", cpu=2),), nodes=())
    lookout.note_plan(waiting, decide(waiting, NOW), NOW, 0.1)
    (entry,) = lookout.look(waiting, NOW).entries
    held = lookout.decision_of(entry.number)
    assert held is not None
    answer = explain_deed(held, entry.deed.place)
    assert answer is not None
    assert "1 pod did not fit" in answer.verdict
    assert explain_deed(held, 9) is None
    assert lookout.decision_of(99) is None


def test_samples_come_every_few_minutes() -> None:
    """However often one looks."""
    lookout = Lookout()
    looks = [lookout.look(CLUSTER, NOW + timedelta(minutes=minute)) for minute in range(11)]
    assert [len(one.samples) for one in looks] == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]


def test_news_are_told_as_lines() -> None:
    """What others did is worth knowing, too."""
    lookout = Lookout()
    lookout.note(NOW, "The cloud takes back a machine")
    (entry,) = lookout.look(CLUSTER, NOW).entries
    assert (entry.deed.kind, entry.deed.title) == ("news", "The cloud takes back a machine")
