"""Renders trees of plain values as YAML with comments, the same bytes for the same tree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

CommentedTree = (
    bool | int | str | list["CommentedTree | Commented"] | dict[str, "CommentedTree | Commented"]
)
PlainTree = bool | int | str | list["PlainTree"] | dict[str, "PlainTree"]


class Commented(msgspec.Struct, frozen=True):
    """A value with a comment that stands above it; each line of the comment is a line there."""

    value: CommentedTree
    comment: str


_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
# Words that YAML 1.1 reads as something else than text.
_WORDS: Final = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})
_LONGEST_INLINE: Final = 80


def plain(tree: CommentedTree | Commented) -> PlainTree:
    """The same without comments."""
    match tree:
        case Commented():
            return plain(tree.value)
        case dict():
            return {key: plain(value) for key, value in tree.items()}
        case list():
            return [plain(value) for value in tree]
        case _:
            return tree


def yaml_text(tree: Mapping[str, CommentedTree | Commented]) -> str:
    """One document, keys in the order given. Short lists and maps of scalars stand on one line."""
    return "".join(f"{line}\n" for line in _map_lines(tree)) or "{}\n"


def comment_lines(text: str) -> list[str]:
    """A comment as lines of YAML."""
    return [f"# {line}".rstrip() for line in text.splitlines()]


def scalar_text(value: bool | int | str) -> str:  # noqa: FBT001  one of the scalars of YAML
    """A scalar, in quotes where a reader could take it for something else."""
    if isinstance(value, str):
        is_plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        return value if is_plain else f'"{"".join(_escaped(sign) for sign in value)}"'
    return str(value).lower()


def _escaped(sign: str) -> str:
    """A character between double quotes."""
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"


def _map_lines(tree: Mapping[str, CommentedTree | Commented]) -> Iterator[str]:
    for key, member in tree.items():
        value, comment = _parts(member)
        yield from comment_lines(comment)
        inline = _inline(value)
        if inline is not None:
            yield f"{scalar_text(key)}: {inline}"
            continue
        yield f"{scalar_text(key)}:"
        yield from (f"  {line}".rstrip() for line in _block_lines(value))


def _block_lines(value: CommentedTree) -> Iterator[str]:
    match value:
        case dict():
            yield from _map_lines(value)
        case list():
            yield from _list_lines(value)
        case _:
            yield scalar_text(value)


def _list_lines(items: Sequence[CommentedTree | Commented]) -> Iterator[str]:
    for member in items:
        value, comment = _parts(member)
        yield from comment_lines(comment)
        inline = _inline(value)
        first, *rest = _block_lines(value) if inline is None else [inline]
        yield f"- {first}"
        yield from (f"  {line}".rstrip() for line in rest)


def _parts(member: CommentedTree | Commented) -> tuple[CommentedTree, str]:
    return (member.value, member.comment) if isinstance(member, Commented) else (member, "")


def _inline(value: CommentedTree) -> str | None:
    """The value on one line; None where it needs several."""
    match value:
        case dict():
            return None if value else "{}"
        case list():
            scalars = [_inline_scalar(item) for item in value]
            shown = [text for text in scalars if text is not None]
            text = f"[{', '.join(shown)}]"
            return text if len(shown) == len(value) and len(text) <= _LONGEST_INLINE else None
        case _:
            return scalar_text(value)


def _inline_scalar(member: CommentedTree | Commented) -> str | None:
    if isinstance(member, Commented | dict | list):
        return None
    return scalar_text(member)
