"""What is counted, written down and read again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dovetail.model.ledger import EvictionCount
from dovetail.state.changes import Evicted
from dovetail.state.cluster import Cluster
from dovetail.state.evictions import Tally, fit, read, to_text

NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOON = NOW - HOUR / 2
WEB = "Deployment/default/web"
COUNTS = {(WEB, NOON): 2, (WEB, NOON - HOUR): 1, ("Job/n/sums", NOON): 7}


def test_each_pod_is_counted_once() -> None:
    """However often its eviction is answered; pods that nobody makes again are not counted."""
    tally = Tally()
    heard: list[None] = []
    tally.heard = lambda: heard.append(None)
    for workload, uid in ((WEB, "a"), (WEB, "a"), (WEB, "b"), ("", "c")):
        tally.add(workload, uid, NOW)
    assert tally.in_order(NOW) == (EvictionCount(WEB, NOON, 2),)
    assert len(heard) == 2


def test_what_is_a_day_old_is_forgotten() -> None:
    """And until then the very same answer is given."""
    tally = Tally()
    tally.add(WEB, "a", NOW)
    tally.add(WEB, "b", NOW + HOUR)
    first = tally.in_order(NOW)
    assert tally.in_order(NOON + 25 * HOUR - timedelta(microseconds=1)) is first
    assert tally.in_order(NOON + 25 * HOUR) == (EvictionCount(WEB, NOON + HOUR, 1),)
    assert tally.counts(NOW) == {(WEB, NOON + HOUR): 1}


def test_evictions_reach_the_ledger() -> None:
    """Also of a pod that is not known any more."""
    cluster = Cluster()
    cluster.apply(Evicted("default/a", "uid-a", NOW, WEB))
    assert cluster.snapshot(NOW).ledger.evictions == (EvictionCount(WEB, NOON, 1),)
    assert cluster.snapshot(NOW + 25 * HOUR).ledger.evictions == ()


def test_what_is_written_can_be_read() -> None:
    """And by people too."""
    assert read(to_text(COUNTS)) == COUNTS
    assert to_text({(WEB, NOON): 2}) == '{"2026-01-01T12Z":{"Deployment/default/web":2}}'
    assert read(to_text({})) == {}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"noon":{}}', '{"2026-01-01T12Z":{"a":0}}', '{"2026-01-01T12Z":1}']
)
def test_what_was_never_written_is_refused(text: str) -> None:
    """Whatever somebody put there."""
    with pytest.raises(ValueError):  # noqa: PT011  any message
        read(text)


def test_what_is_written_never_outgrows_its_place() -> None:
    """Hours are joined first, so that nobody is evicted more; then who was evicted least goes."""
    many = {
        (f"Deployment/default/web-{index:04}", NOON - hours * HOUR): index + 1
        for index in range(100)
        for hours in range(10)
    }
    assert fit(COUNTS) is COUNTS
    joined = fit(many, 10_000)
    assert len(to_text(joined)) <= 10_000
    assert joined["Deployment/default/web-0099", NOON] == 1000
    assert len(joined) == 100
    fewest = fit(many, 1_000)
    assert 0 < len(to_text(fewest)) <= 1_000
    assert ("Deployment/default/web-0099", NOON) in fewest
    assert ("Deployment/default/web-0000", NOON) not in fewest
