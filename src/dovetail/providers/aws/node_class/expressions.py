"""Compiles and evaluates the expressions of `spec.kubelet`, a subset of CEL.

The subset: literals of int, double, string and bool; variables; lists on the right of `in`; the
operators `! - * / % + < <= > >= == != in && || ?:`; `min` and `max` of two numbers of one type;
`int()` and `double()` of a number; `startsWith`, `endsWith` and `contains` of strings.

As in CEL, int and double never mix without a conversion, which compiling finds out. Integers have
64 bits; what overflows, and a division of integers by zero, is an error. Doubles follow IEEE 754.
`&&` and `||` ignore an error on one side if the other side decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, assert_never

import msgspec

from dovetail.providers.aws.node_class.expression_parser import (
    Conditional,
    ExpressionError,
    ExpressionNode,
    FunctionCall,
    Literal,
    Operation,
    Value,
    ValueType,
    VariableReference,
    parse,
)

_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1
_NUMBERS: Final = (ValueType.INT, ValueType.DOUBLE)


class EvaluationError(ExpressionError):
    """An expression that compiles has no value for these variables."""


class Expression(msgspec.Struct, frozen=True):
    """A compiled expression."""

    source: str
    root: ExpressionNode

    @property
    def type(self) -> ValueType:
        """The type of its value."""
        return self.root.type

    def evaluate(self, variables: Mapping[str, Value]) -> Value:
        """Its value. Raises EvaluationError."""
        return _value(self.root, variables)

    def whole_number(self, variables: Mapping[str, Value]) -> int:
        """Its value without what is behind the point, not negative. Raises EvaluationError."""
        value = self.evaluate(variables)
        if isinstance(value, bool) or not isinstance(value, int | float):
            msg = f"gives {value!r}; expected a number"
            raise EvaluationError(msg)
        if not math.isfinite(value) or value < 0:
            msg = f"gives {value}; expected a finite number of at least 0"
            raise EvaluationError(msg)
        return int(value)


def compile_source(source: str, variables: Mapping[str, ValueType]) -> Expression:
    """An expression that gives a number. Raises ExpressionError with what was expected."""
    root = parse(source, variables)
    if root.type not in _NUMBERS:
        msg = f"gives a value of type {root.type}; expected int or double"
        raise ExpressionError(msg)
    return Expression(source, root)


def _value(node: ExpressionNode, variables: Mapping[str, Value]) -> Value:
    match node:
        case Literal():
            return node.value
        case VariableReference():
            return variables[node.name]
        case Conditional():
            chosen = node.yes if _value(node.condition, variables) else node.no
            return _value(chosen, variables)
        case FunctionCall():
            return _call(node, [_value(argument, variables) for argument in node.arguments])
        case Operation(operator="&&" | "||"):
            return _logical(node, variables)
        case Operation():
            return _operation(node, [_value(operand, variables) for operand in node.operands])
        case _:
            assert_never(node)


def _logical(node: Operation, variables: Mapping[str, Value]) -> bool:
    deciding = node.operator == "||"
    failure: EvaluationError | None = None
    for operand in node.operands:
        try:
            if _value(operand, variables) is deciding:
                return deciding
        except EvaluationError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not deciding


def _operation(node: Operation, values: list[Value]) -> Value:
    match values:
        case [bool() as value]:
            return not value
        case [int() | float() as value]:
            return _check(-value)
        case [str() as left, str() as right]:
            return _on_texts(node.operator, left, right)
        case [int() | float() as left, int() | float() as right]:
            return _on_numbers(node.operator, left, right)
        case [left, tuple() as items]:
            return left in items
        case _:  # compiling lets nothing else through
            msg = f"{node.operator} has no meaning for {values}"
            raise EvaluationError(msg)


_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}


def _on_texts(operator: str, left: str, right: str) -> Value:
    if operator == "+":
        return left + right
    order = (left > right) - (left < right)
    return _COMPARISONS[operator](order, 0)


def _on_numbers(operator: str, left: float, right: float) -> Value:
    match operator:
        case "+":
            return _check(left + right)
        case "-":
            return _check(left - right)
        case "*":
            return _check(left * right)
        case "/" | "%" if isinstance(left, int) and isinstance(right, int):
            return _divide(operator, left, right)
        case "/":
            return _quotient(left, right)
        case _:
            return _COMPARISONS[operator](left, right)


def _divide(operator: str, left: int, right: int) -> int:
    """Integers are divided towards zero; the rest has the sign of the dividend."""
    if right == 0:
        msg = f"divides {left} by zero"
        raise EvaluationError(msg)
    quotient = abs(left) // abs(right)
    if (left < 0) != (right < 0):
        quotient = -quotient
    _check(quotient)  # as in CEL, the rest of a division that overflows is an error as well
    return quotient if operator == "/" else left - quotient * right


def _quotient(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _check(number: float) -> float:
    if isinstance(number, int) and not _LEAST <= number <= _MOST:
        msg = f"{number} is more than an integer of 64 bits holds"
        raise EvaluationError(msg)
    return number


def _call(node: FunctionCall, values: list[Value]) -> Value:
    match node.name, values:
        case "int", [int() | float() as value]:
            return _truncate(value)
        case "double", [int() | float() as value]:
            return float(value)
        case "min" | "max", [int() | float() as left, int() | float() as right]:
            return _extreme(node.name, left, right)
        case "startsWith", [str() as text, str() as part]:
            return text.startswith(part)
        case "endsWith", [str() as text, str() as part]:
            return text.endswith(part)
        case "contains", [str() as text, str() as part]:
            return part in text
        case _:  # compiling lets nothing else through
            msg = f"{node.name} has no meaning for {values}"
            raise EvaluationError(msg)


def _truncate(number: float) -> int:
    # CEL refuses the least integer as well when it comes from a double.
    if isinstance(number, int):
        return number
    if not math.isfinite(number) or not -(2.0**63) < number < 2.0**63:
        msg = f"int({number}) is more than an integer of 64 bits holds"
        raise EvaluationError(msg)
    return int(number)


def _extreme(name: str, left: float, right: float) -> float:
    if math.isnan(left) or math.isnan(right):
        return math.nan
    if left == right:  # of two zeros, the negative one is the smaller
        left, right = sorted((left, right), key=lambda zero: math.copysign(1.0, zero))
    return min(left, right) if name == "min" else max(right, left)
