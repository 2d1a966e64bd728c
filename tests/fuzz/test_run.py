"""A long run goes on where it was stopped, and says what was wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.parts import PARTS, Part
from tests.fuzz.progress import Progress, code_mark
from tests.fuzz.run import report, run

N_SEEDS = 12
asked: list[int] = []


def odd(seed: int) -> list[str]:
    """One seed is wrong, and one crashes."""
    asked.append(seed)
    if seed == 5:
        msg = "five"
        raise ValueError(msg)
    return ["not\nright"] if seed == 3 else []


PART = Part("odd", "all is well", N_SEEDS, odd)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_wrong_is_told_by_seed(
    jobs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A crash is wrong too; the exit code says so, and how to run a seed again."""
    found = run(PART, range(N_SEEDS), jobs, tmp_path)
    assert sorted(found) == [3, 5]
    assert found[3] == "not right"
    assert "ValueError: five" in found[5]
    assert report([(PART, range(N_SEEDS), found)]) == 1
    assert "run.py --only odd --show 3" in capsys.readouterr().out
    assert report([(PART, range(2), {})]) == 0


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """Also if it was cut short in the middle of a line; nothing is forgotten that was wrong."""
    run(PART, range(8), 1, tmp_path)
    with (tmp_path / "odd").open("a") as kept:
        kept.write("8\tfi")
    asked.clear()
    found = run(PART, range(N_SEEDS), 1, tmp_path)
    assert asked == [8, 9, 10, 11]
    assert sorted(found) == [3, 5]
    assert sorted(Progress(tmp_path / "odd").found) == list(range(N_SEEDS))
    asked.clear()
    assert sorted(run(PART, range(4, N_SEEDS), 1, tmp_path)) == [5]
    assert asked == []


def test_other_code_begins_anew(tmp_path: Path) -> None:
    """Its progress is kept elsewhere."""
    (tmp_path / "a.py").write_text("x = 1\n")
    before = code_mark([tmp_path])
    assert code_mark([tmp_path]) == before
    (tmp_path / "a.py").write_text("x = 2\n")
    assert code_mark([tmp_path]) != before


def test_every_law_has_its_number() -> None:
    """What `make fuzz` judges unless told otherwise."""
    wanted = {
        "plans": 20_000,
        "placed": 20_000,
        "rest": 5_000,
        "budgets": 5_000,
        "kills": 200,
    }
    assert {part.name: part.n_seeds for part in PARTS} == wanted
