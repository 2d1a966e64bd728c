"""Tests the evaluation of kubelet expressions against results of cel-go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from dovetail.providers.aws.node_class.expression_parser import ExpressionError, Value, parse
from dovetail.providers.aws.node_class.expressions import (
    EvaluationError,
    Expression,
    compile_source,
)
from dovetail.providers.aws.node_class.kubelet import VARIABLES

JUDGED: Final[dict[str, Any]] = json.loads(
    Path(__file__).with_name("cel_results.json").read_text(encoding="utf-8")
)
FACTS: Final[dict[str, Value]] = JUDGED["variables"]
# CEL that is not in the subset: compiling refuses it.
BEYOND: Final = frozenset(
    {"instance_type.size()", "[1, 2] == [1, 2] ? 1 : 2", "5u", "int('5')", "double('1.5')"}
)


def outcome(source: str) -> tuple[str, Value | None]:
    """The type and the value of an expression, or what failed."""
    try:
        root = parse(source, VARIABLES)
    except ExpressionError:
        return "invalid", None
    try:
        return root.type, Expression(source, root).evaluate(FACTS)
    except EvaluationError:
        return "error", None


@pytest.mark.parametrize(
    "judged", JUDGED["expressions"], ids=[one["source"] for one in JUDGED["expressions"]]
)
def test_an_expression_gives_what_cel_gives(judged: dict[str, str]) -> None:
    """Type, value and failure alike; what is beyond the subset does not compile."""
    got, value = outcome(judged["source"])
    assert got == ("invalid" if judged["source"] in BEYOND else judged["outcome"])
    if got == "int":
        assert value == int(judged["value"])
    if got == "double":
        assert isinstance(value, float)
        assert float(judged["value"]).hex() == value.hex()  # the sign of zero and NaN as well


@pytest.mark.parametrize(
    ("source", "want"),
    [
        pytest.param("7 / 2", 3, id="an int"),
        pytest.param("2.9", 2, id="a double, truncated"),
        pytest.param("max(0, vcpus - 10)", 0, id="zero"),
    ],
)
def test_a_result_is_a_whole_number(source: str, want: int) -> None:
    """What is behind the point is cut off."""
    assert compile_source(source, VARIABLES).whole_number(FACTS) == want


@pytest.mark.parametrize("source", ["0.0 / 0.0", "1.0 / 0.0", "-1.0 / 0.0", "vcpus - 5", "-0.5"])
def test_a_result_that_is_no_amount_is_refused(source: str) -> None:
    """No NaN, nothing infinite, nothing negative."""
    with pytest.raises(EvaluationError, match="expected a finite number of at least 0"):
        compile_source(source, VARIABLES).whole_number(FACTS)


@pytest.mark.parametrize("source", ["true", "instance_type", "vcpus > 4"])
def test_an_expression_must_give_a_number(source: str) -> None:
    """Anything else is refused when it is compiled."""
    with pytest.raises(ExpressionError, match="expected int or double"):
        compile_source(source, VARIABLES)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("(" * 60 + "1" + ")" * 60, id="parentheses"),
        pytest.param("-" * 2000 + "vcpus", id="signs"),
        pytest.param("true ? 1 : " * 100 + "1", id="conditions"),
        pytest.param("1 + " * 1000 + "1", id="characters"),
        pytest.param("1+" * 151 + "1", id="operators"),
    ],
)
def test_an_endless_expression_is_refused(source: str) -> None:
    """Compiling is bounded in depth and length."""
    with pytest.raises(ExpressionError, match="expected at most"):
        compile_source(source, VARIABLES)


def test_a_long_sum_is_evaluated() -> None:
    """Operators in a row nest as deeply as there are operators."""
    assert compile_source("1 + " * 150 + "1", VARIABLES).whole_number(FACTS) == 151


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("vcpus * 1.5", r"int \* double.*convert with int\(\) or double\(\)", id="mix"),
        pytest.param("cores * 2", "'cores' is unknown; expected one of default_enis", id="name"),
        pytest.param("vcpus *", "expected a value, not 'the end'", id="end"),
        pytest.param("vcpus # 2", "cannot be read from '# 2'", id="sign"),
        pytest.param(r"'\d' == '' ? 1 : 2", "escape", id="escape"),
        pytest.param("instance_type.matches('m') ? 1 : 2", "'matches' is unknown", id="method"),
        pytest.param("1 in vcpus ? 1 : 2", "expected a list of int", id="no list"),
        pytest.param("1 in [1, vcpus] ? 1 : 2", "expected literals of one type", id="mixed list"),
    ],
)
def test_a_refusal_says_what_was_expected(source: str, message: str) -> None:
    """The message quotes what is wrong."""
    with pytest.raises(ExpressionError, match=message):
        compile_source(source, VARIABLES)
