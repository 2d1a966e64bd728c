from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dovetail.errors import InputError
from dovetail.sim.scenario.trace import Recorded, RecordedPods, read_trace
from tests.unit.sim.scenario.files import written

START = datetime(2026, 1, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)
KNOWN = frozenset({"web", "default/api"})


def read(text: str, folder: Path) -> Recorded:
    """The trace with these rows; complaints without the folder's name."""
    found = read_trace(written(folder, text, "trace.csv"), START, KNOWN)
    bad = tuple(one.replace(f"{folder}/", "") for one in found.bad)
    return Recorded(found.replicas, found.pods, bad)


def test_replicas_are_read_by_workload_in_order_of_time(tmp_path: Path) -> None:
    """Times are spans, seconds or moments."""
    rows = "time,workload,replicas\n2h,web,5\n0,web,3\n2026-01-05T01:00:00Z,default/api,2\n"
    want = {"web": ((0 * HOUR, 3), (2 * HOUR, 5)), "default/api": ((HOUR, 2),)}
    assert read(rows, tmp_path) == Recorded(want)


def test_pods_are_read_with_whatever_they_ask_for(tmp_path: Path) -> None:
    """Further columns are resources; `count` says how many."""
    rows = "start,duration,cpu,memory,nvidia.com/gpu,count\n1h,30m,500m,1Gi,,2\n60,10m,1,2Gi,1,1\n"
    found = read(rows, tmp_path)
    assert found.pods == (
        RecordedPods(HOUR, HOUR / 2, (("cpu", "500m"), ("memory", "1Gi")), 2),
        RecordedPods(
            timedelta(minutes=1),
            timedelta(minutes=10),
            (("cpu", "1"), ("memory", "2Gi"), ("nvidia.com/gpu", "1")),
        ),
    )


def test_a_bad_row_is_named_by_its_line_and_the_rest_is_used(tmp_path: Path) -> None:
    """Nothing is guessed."""
    rows = "time,workload,replicas\n0,web,3\nnoon,web,4\n1h,wbe,4\n2h,web,-1\n3h,web\n4h,web,6\n"
    found = read(rows, tmp_path)
    assert found.replicas == {"web": ((0 * HOUR, 3), (4 * HOUR, 6))}
    lines = [one.split(": ")[1] for one in found.bad]
    assert lines == ["line 3", "line 4", "line 5", "line 6"]
    assert "no workload 'wbe'" in found.bad[1]
    assert all(one.endswith("; the row is left out") for one in found.bad)


@pytest.mark.parametrize(
    ("rows", "want"),
    [
        pytest.param("a,b\n1,2\n", "the first line has a, b; expected", id="other columns"),
        pytest.param("", "the first line has no columns; expected", id="nothing"),
        pytest.param("time,workload,replicas\nx,web,1\n", "no row can be used", id="only bad rows"),
    ],
)
def test_a_trace_without_anything_in_it_is_refused(rows: str, want: str, tmp_path: Path) -> None:
    """With what was expected."""
    with pytest.raises(InputError) as caught:
        read(rows, tmp_path)
    assert want in str(caught.value)
