"""How do bytes become wire types, and what is said when they cannot?

Kubernetes drops null wherever it stands; `kubectl` writes `creationTimestamp: null` itself. So a
null that does not fit is taken out and decoding tried once more, which costs nothing as long as
there is none.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from dovetail.errors import InputError

T = TypeVar("T")
Tree = None | bool | int | float | str | list["Tree"] | dict[str, "Tree"]

_encoder = msgspec.json.Encoder()


class FieldProblem(msgspec.Struct, frozen=True, gc=False, order=True):
    """Something wrong with one field, and what was expected there."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class DecodeError(InputError):
    """An object does not have the shape its kind must have."""

    def __init__(self, problem: FieldProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


_decoders: dict[object, msgspec.json.Decoder[Any]] = {}


def decoder(wire_type: type[T]) -> msgspec.json.Decoder[T]:
    """The one decoder of a wire type."""
    decoder = _decoders.get(wire_type)
    if decoder is None:
        decoder = _decoders[wire_type] = msgspec.json.Decoder(wire_type)
    return decoder


def decode(wire_type: type[T], data: bytes | bytearray | memoryview | msgspec.Raw | Tree) -> T:
    """An object from JSON, or from what a YAML reader made of it.

    What it keeps undecoded points into `data`: hold on to what you need, not to the object.
    """
    return decode_at("", wire_type, data)


def decode_at(
    field: str, wire_type: type[T], data: bytes | bytearray | memoryview | msgspec.Raw | Tree
) -> T:
    """As `decode`, for a part that stands at `field` of its object."""
    if not isinstance(data, bytes | bytearray | memoryview | msgspec.Raw):
        data = encode(data)
    try:
        return decoder(wire_type).decode(data)
    except msgspec.ValidationError as error:
        problem = problem_of(error, field)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(FieldProblem(field, f"not JSON: {error}")) from None
    try:
        return decoder(wire_type).decode(encode(without_nulls(msgspec.json.decode(data))))
    except (msgspec.DecodeError, DecodeError, RecursionError):
        raise DecodeError(problem) from None


def encode(value: object) -> bytes:
    """JSON of a wire type or a plain tree."""
    try:
        return _encoder.encode(value)
    except RecursionError:
        raise DecodeError(FieldProblem("", "is nested too deeply")) from None
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise DecodeError(FieldProblem("", f"cannot be written as JSON: {error}")) from None


def problem_of(error: msgspec.ValidationError, field: str = "") -> FieldProblem:
    """The field path and the expectation in one of msgspec's messages."""
    message, _, path = str(error).partition(" - at `")
    inner = path.removesuffix("`").removeprefix("$").removeprefix(".")
    return FieldProblem(join(field, inner), message[:1].lower() + message[1:])


def join(outer: str, inner: str) -> str:
    """One field path from two."""
    if not outer or not inner or inner.startswith("["):
        return outer + inner
    return f"{outer}.{inner}"


def without_nulls(tree: Tree) -> Tree:
    """The same without fields that are null; nulls in lists stay, since they shift the rest."""
    if isinstance(tree, dict):
        return {key: without_nulls(value) for key, value in tree.items() if value is not None}
    if isinstance(tree, list):
        return [without_nulls(value) for value in tree]
    return tree
