"""Parses the expressions of `spec.kubelet` and checks their types.

Which subset of CEL that is, `expressions.py` says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from dovetail.errors import InputError


class ValueType(StrEnum):
    """The type of a value, as CEL calls it."""

    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    BOOL = "bool"
    LIST = "list"


Value = bool | int | float | str | tuple[bool | int | float | str, ...]


class Literal(msgspec.Struct, frozen=True):
    """A value that is written down; `item` is the type of the items of a list."""

    type: ValueType
    value: Value
    item: ValueType | None = None


class VariableReference(msgspec.Struct, frozen=True):
    """A value that is known at evaluation."""

    type: ValueType
    name: str


class Operation(msgspec.Struct, frozen=True):
    """An operator with one or two operands."""

    type: ValueType
    operator: str
    operands: tuple[ExpressionNode, ...]


class Conditional(msgspec.Struct, frozen=True):
    """One of two values."""

    type: ValueType
    condition: ExpressionNode
    yes: ExpressionNode
    no: ExpressionNode


class FunctionCall(msgspec.Struct, frozen=True):
    """A function; of a method, the value in front of the point is the first argument."""

    type: ValueType
    name: str
    arguments: tuple[ExpressionNode, ...]


ExpressionNode = Literal | VariableReference | Operation | Conditional | FunctionCall


class ExpressionError(InputError):
    """An expression cannot be used."""


_LONGEST: Final = 2048  # characters
_DEEPEST: Final = 50
_MOST_OPERATORS: Final = 150  # they nest as deeply as there are operators in a row
_MOST: Final = 2**63 - 1
_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<double>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<int>0[xX][0-9a-fA-F]+|[0-9]+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
    |(?P<sign>&&|\|\||[<>=!]=|[-+*/%<>!?:().,\[\]])
    )""",
    re.VERBOSE | re.ASCII,
)
_ESCAPES: Final = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
# Binary operators that bind tighter come later.
_LEVELS: Final = (
    ("||",),
    ("&&",),
    ("<", "<=", ">", ">=", "==", "!=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
_COMPARISONS: Final = frozenset({"<", "<=", ">", ">=", "==", "!="})
_NUMBERS: Final = frozenset({ValueType.INT, ValueType.DOUBLE})
_OPERANDS: Final[dict[str, frozenset[ValueType]]] = {
    "+": _NUMBERS | {ValueType.STRING},
    "-": _NUMBERS,
    "*": _NUMBERS,
    "/": _NUMBERS,
    "%": frozenset({ValueType.INT}),
    "&&": frozenset({ValueType.BOOL}),
    "||": frozenset({ValueType.BOOL}),
    **dict.fromkeys(_COMPARISONS, frozenset(ValueType) - {ValueType.LIST}),
}
_METHODS: Final = ("startsWith", "endsWith", "contains")
_KEYWORDS: Final = {"true": True, "false": False}


class _Token(msgspec.Struct, frozen=True):
    kind: str
    text: str
    at: int


def parse(source: str, variables: Mapping[str, ValueType]) -> ExpressionNode:
    """The tree of an expression, its types checked. Raises ExpressionError."""
    if len(source) > _LONGEST:
        msg = f"has {len(source)} characters; expected at most {_LONGEST}"
        raise ExpressionError(msg)
    parser = _Parser(_tokens(source), variables)
    root = parser.expression()
    parser.end()
    return root


def _tokens(source: str) -> list[_Token]:
    tokens, at, end = [], 0, len(source.rstrip())
    while at < end:
        match = _TOKEN.match(source, at)
        if match is None or match.lastgroup is None:
            msg = f"cannot be read from {source[at:].strip()[:20]!r}"
            raise ExpressionError(msg)
        tokens.append(_Token(match.lastgroup, match[match.lastgroup], match.start()))
        at = match.end()
    return [*tokens, _Token("end", "", end)]


class _Parser:
    """Walks over the tokens once, from left to right."""

    def __init__(self, tokens: Sequence[_Token], variables: Mapping[str, ValueType]) -> None:
        self._tokens = tokens
        self._variables = variables
        self._at = 0
        self._depth = 0
        self._n_operators = 0

    def expression(self) -> ExpressionNode:
        """A condition with two values, or just a value."""
        self._depth += 1
        if self._depth > _DEEPEST:
            msg = f"is nested too deeply; expected at most {_DEEPEST} levels"
            raise ExpressionError(msg)
        node = self._binary(0)
        if self._takes("?"):
            yes = self._binary(0)
            self._expect(":")
            node = _conditional(node, yes, self.expression())
        self._depth -= 1
        return node

    def end(self) -> None:
        """Check that nothing is left."""
        if self._next.kind != "end":
            msg = f"ends before {self._next.text!r}; expected an operator there"
            raise ExpressionError(msg)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _takes(self, text: str) -> bool:
        """Whether the next token is this sign; if so, it is passed."""
        is_next = self._next.text == text and self._next.kind in {"sign", "name"}
        self._at += is_next
        return is_next

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            msg = f"expected {text!r}, not {self._next.text or 'the end'!r}"
            raise ExpressionError(msg)

    def _binary(self, level: int) -> ExpressionNode:
        if level == len(_LEVELS):
            return self._unary()
        node = self._binary(level + 1)
        while True:
            operator = next((sign for sign in _LEVELS[level] if self._takes(sign)), None)
            if operator is None:
                return node
            self._n_operators += 1
            if self._n_operators > _MOST_OPERATORS:
                msg = f"has too many operators; expected at most {_MOST_OPERATORS}"
                raise ExpressionError(msg)
            node = _operation(operator, node, self._binary(level + 1))

    def _unary(self) -> ExpressionNode:
        if self._takes("-"):
            if self._next.kind == "int":  # the least integer has no positive twin
                return self._integer(sign=-1)
            return _negate("-", self._deeper(), _NUMBERS)
        if self._takes("!"):
            return _negate("!", self._deeper(), frozenset({ValueType.BOOL}))
        return self._member()

    def _deeper(self) -> ExpressionNode:
        self._depth += 1
        if self._depth > _DEEPEST:
            msg = f"is nested too deeply; expected at most {_DEEPEST} levels"
            raise ExpressionError(msg)
        node = self._unary()
        self._depth -= 1
        return node

    def _member(self) -> ExpressionNode:
        node = self._primary()
        while self._takes("."):
            name = self._next.text
            self._at += 1
            if name not in _METHODS:
                msg = f"{name!r} is unknown; expected one of {', '.join(_METHODS)}"
                raise ExpressionError(msg)
            self._expect("(")
            node = _call(name, (node, *self._items(")")))
        return node

    def _primary(self) -> ExpressionNode:
        token = self._next
        if token.kind == "int":
            return self._integer()
        self._at += 1
        match token.kind, token.text:
            case "double", text:
                return Literal(ValueType.DOUBLE, float(text))
            case "text", text:
                return Literal(ValueType.STRING, _unquote(text))
            case "name", name:
                return self._variable(name)
            case "sign", "(":
                node = self.expression()
                self._expect(")")
                return node
            case "sign", "[":
                return _list(self._items("]"))
            case _:
                msg = f"expected a value, not {token.text or 'the end'!r}"
                raise ExpressionError(msg)

    def _integer(self, sign: int = 1) -> ExpressionNode:
        number = sign * int(self._next.text, 16 if self._next.text[1:2] in {"x", "X"} else 10)
        self._at += 1
        if not -_MOST - 1 <= number <= _MOST:
            msg = f"{number} is more than an integer of 64 bits holds"
            raise ExpressionError(msg)
        return Literal(ValueType.INT, number)

    def _variable(self, name: str) -> ExpressionNode:
        if name in _KEYWORDS:
            return Literal(ValueType.BOOL, _KEYWORDS[name])
        if self._takes("("):
            return _call(name, self._items(")"))
        if name not in self._variables:
            known = ", ".join(sorted(self._variables))
            msg = f"{name!r} is unknown; expected one of {known}"
            raise ExpressionError(msg)
        return VariableReference(self._variables[name], name)

    def _items(self, closing: str) -> tuple[ExpressionNode, ...]:
        if self._takes(closing):
            return ()
        nodes = [self.expression()]
        while self._takes(","):
            nodes.append(self.expression())
        self._expect(closing)
        return tuple(nodes)


# ---- types


def _conditional(
    condition: ExpressionNode, yes: ExpressionNode, no: ExpressionNode
) -> ExpressionNode:
    if condition.type != ValueType.BOOL:
        msg = f"has a condition of type {condition.type}; expected bool before '?'"
        raise ExpressionError(msg)
    if yes.type != no.type or yes.type == ValueType.LIST:
        msg = f"has {yes.type} and {no.type} beside ':'; expected two values of one type"
        raise ExpressionError(msg)
    return Conditional(yes.type, condition, yes, no)


def _operation(operator: str, left: ExpressionNode, right: ExpressionNode) -> ExpressionNode:
    if operator == "in":
        if not isinstance(right, Literal) or right.item not in {left.type, None}:
            msg = f"has {right.type} on the right of 'in'; expected a list of {left.type}"
            raise ExpressionError(msg)
        return Operation(ValueType.BOOL, operator, (left, right))
    if left.type != right.type or left.type not in _OPERANDS[operator]:
        types = " or ".join(type_ for type_ in ValueType if type_ in _OPERANDS[operator])
        msg = (
            f"has {left.type} {operator} {right.type}; expected two values of one type, {types} "
            "(convert with int() or double())"
        )
        raise ExpressionError(msg)
    is_truth = operator in _COMPARISONS or left.type == ValueType.BOOL
    return Operation(ValueType.BOOL if is_truth else left.type, operator, (left, right))


def _negate(
    operator: str, operand: ExpressionNode, allowed: frozenset[ValueType]
) -> ExpressionNode:
    if operand.type not in allowed:
        msg = f"has {operator} before {operand.type}; expected {' or '.join(sorted(allowed))}"
        raise ExpressionError(msg)
    return Operation(operand.type, operator, (operand,))


def _call(name: str, arguments: tuple[ExpressionNode, ...]) -> ExpressionNode:
    types = tuple(argument.type for argument in arguments)
    match name, types:
        case (
            ("min" | "max"),
            (ValueType.INT, ValueType.INT) | (ValueType.DOUBLE, ValueType.DOUBLE),
        ):
            return FunctionCall(types[0], name, arguments)
        case "int", (ValueType.INT | ValueType.DOUBLE,):
            return FunctionCall(ValueType.INT, name, arguments)
        case "double", (ValueType.INT | ValueType.DOUBLE,):
            return FunctionCall(ValueType.DOUBLE, name, arguments)
        case (("startsWith" | "endsWith" | "contains"), (ValueType.STRING, ValueType.STRING)):
            return FunctionCall(ValueType.BOOL, name, arguments)
        case _:
            msg = (
                f"has {name}({', '.join(types)}); expected min or max of two numbers of one type, "
                "int or double of a number, or startsWith, endsWith or contains of two strings"
            )
            raise ExpressionError(msg)


def _list(items: tuple[ExpressionNode, ...]) -> ExpressionNode:
    types = {item.type for item in items}
    values = tuple(item.value for item in items if isinstance(item, Literal))
    plain = tuple(value for value in values if not isinstance(value, tuple))
    if len(types) > 1 or len(plain) != len(items):
        msg = "has a list of different things; expected literals of one type"
        raise ExpressionError(msg)
    return Literal(ValueType.LIST, plain, next(iter(types), None))


def _unquote(text: str) -> str:
    parts = re.split(r"\\(.)", text[1:-1])
    unknown = next((part for part in parts[1::2] if part not in _ESCAPES), None)
    if unknown is not None:
        msg = f"has the escape \\{unknown}; expected one of \\\\ \\' \\\" \\n \\r \\t"
        raise ExpressionError(msg)
    return "".join(_ESCAPES[part] if index % 2 else part for index, part in enumerate(parts))
