"""Nothing that users rely on is forgotten: each literal is seen where users see it."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from dovetail import labels
from tests.coverage import contracts
from tests.coverage.contracts import METRICS_ELSEWHERE, PLAY
from tests.coverage.play import played
from tests.unit.observe.test_every_metric import METRICS
from tests.unit.settings.test_sources import REFERENCE

ROOT = Path(__file__).parents[2]
CONSTANTS = {value: name for name, value in vars(labels).items() if isinstance(value, str)}
_NOT_OURS = {"le", "quantile"}
KeyT = TypeVar("KeyT", bound=Hashable)


def in_play(table: Mapping[KeyT, str]) -> set[KeyT]:
    """What of a table the play must show."""
    return {literal for literal, where in table.items() if where == PLAY}


@pytest.mark.parametrize(
    "kind", ["conditions", "events", "labels", "annotations", "finalizers", "taints"]
)
def test_the_play_shows_all_that_it_should(kind: str) -> None:
    """On objects and in events, as the API has them."""
    seen: set[Hashable] = getattr(played(), kind)
    assert in_play(getattr(contracts, kind.upper())) - seen == set()


def test_no_condition_goes_by_that_the_table_does_not_know() -> None:
    """Or else it is one that the reference does not have, or the table is not whole."""
    ours = {one for one in played().conditions if one[0] != "Node"}
    # A pool whose nodes were not launched says so in the words of the launch.
    launch = ("NodePool", "NodeRegistrationHealthy", "False", "AwaitingReconciliation")
    assert ours - set(contracts.CONDITIONS) <= {launch}


def test_no_event_goes_by_that_the_table_does_not_know() -> None:
    """The same for events."""
    assert played().events - set(contracts.EVENTS) == set()


@pytest.mark.parametrize("name", sorted(set(METRICS) - set(METRICS_ELSEWHERE)))
def test_the_play_moves_each_metric(name: str) -> None:
    """With the labels that dashboards group by, and no others."""
    found = played().metrics.get(name, set())
    assert found
    wanted = set(METRICS[name][1].split())
    own = {
        f"instance_{suffix}" if name.startswith("karpenter_nodes_") else ""
        for suffix in ("cpu", "family", "memory", "size")
    }
    for one in found:
        assert {key for key, _ in one} - _NOT_OURS - own - {"kwoknodeclass"} == wanted


def test_metrics_seen_elsewhere_are_metrics() -> None:
    """By their names."""
    assert set(METRICS) >= set(METRICS_ELSEWHERE)


@pytest.mark.parametrize(("metric", "label", "value"), sorted(in_play(contracts.LABEL_VALUES)))
def test_a_series_says_it_in_the_words_of_the_reference(
    metric: str, label: str, value: str
) -> None:
    """Reasons, modes, methods and errors."""
    assert value in played().values(metric, label)


@pytest.mark.parametrize(("logger", "message"), contracts.MESSAGES)
def test_the_log_says_what_was_done(logger: str, message: str) -> None:
    """In a constant phrase, with every key that a line has."""
    lines = [one for one in played().logs if one["message"] == message]
    assert {one["logger"] for one in lines} == {logger}
    assert all(
        {"level", "time", "logger", "caller", "message", "commit"} <= set(one) for one in lines
    )


def test_preferences_are_remarked_upon_once() -> None:
    """A pod that would rather be apart is told of at its first sight, and not again that day."""
    found = [one for one in played().logs if "may keep nodes from being" in str(one["message"])]
    assert [(one["level"], one["Pods"]) for one in found] == [("WARN", "default/with-a-wish")]


@cache
def source_of(path: str) -> tuple[str, frozenset[str]]:
    """A test file, and the tests in it."""
    text = (ROOT / path).read_text()
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    names = (one.name for one in ast.walk(ast.parse(text)) if isinstance(one, functions))
    return text, frozenset(names)


NAMED: list[tuple[Hashable, str]] = [
    *contracts.CONDITIONS.items(),
    *contracts.EVENTS.items(),
    *contracts.LABELS.items(),
    *contracts.ANNOTATIONS.items(),
    *contracts.FINALIZERS.items(),
    *contracts.TAINTS.items(),
    *contracts.LABEL_VALUES.items(),
    *METRICS_ELSEWHERE.items(),
    *contracts.OTHERS.items(),
    *contracts.FLAGS.items(),
]


@pytest.mark.parametrize(
    ("literal", "where"),
    [(one, where) for one, where in NAMED if "::" in where],
    ids=lambda one: str(one)[-60:],
)
def test_a_named_test_is_there(literal: Hashable, where: str) -> None:
    """Under its name; and its file speaks of what it is said to see."""
    path, _, name = where.partition("::")
    text, names = source_of(path)
    assert name in names
    word = str(literal[-1] if isinstance(literal, tuple) else literal)
    spellings = (word, CONSTANTS.get(word, word), word.replace("-", "_"), word.replace("/", ""))
    is_flag = literal in contracts.FLAGS
    assert is_flag or any(one in text for one in spellings)


def test_every_flag_of_the_reference_has_an_effect_that_is_seen_or_a_reason_for_none() -> None:
    """None is forgotten."""
    of_kwok = {"instance-types-file-path"}  # the reference has it too, and it is its provider's
    assert set(contracts.FLAGS) == {*REFERENCE, *of_kwok}


def test_the_table_is_as_large_as_the_contract() -> None:
    """So that nobody empties it by mistake."""
    assert len(NAMED) + len(METRICS) + len(contracts.MESSAGES) > 250
