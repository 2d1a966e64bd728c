"""Reads request files, and writes generated files unless they hold something else."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from dovetail.api.decoding import Tree
from dovetail.errors import InputError
from dovetail.generator.generate import Generated, embedded_request
from dovetail.kube import sources, yaml_trees

_EXPECTED: Final = "expected one request with name, cpu and so on (--schema prints its fields)"


class RequestFile(msgspec.Struct, frozen=True):
    """A request as a tree of plain values, with the name of its file."""

    name: str
    tree: Tree


class Writing(StrEnum):
    """What writing a generated file comes to."""

    NEW = "written"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


def read_request_file(path: str, stdin: BinaryIO) -> RequestFile:
    """The request in a file, in a generated file, or on standard input ("-"). Raises InputError."""
    content = _content(path, stdin)
    name = content.name
    try:
        text = content.data.decode()
        data = (embedded_request(text) or text).encode()
        trees = list(yaml_trees.trees(data))
    except UnicodeDecodeError:
        msg = f"{name}: not UTF-8; {_EXPECTED}"
        raise InputError(msg) from None
    except yaml_trees.YamlError as error:
        msg = f"{name}, document {error.document}: {error.message}"
        raise InputError(msg) from None
    if len(trees) != 1:
        msg = f"{name}: found {len(trees)} documents; {_EXPECTED}"
        raise InputError(msg)
    [(_, tree)] = trees
    if isinstance(tree, dict) and "apiVersion" in tree:
        msg = f"{name}: found an object with apiVersion; {_EXPECTED}"
        raise InputError(msg)
    return RequestFile(name, tree)


def writing(path: str, generated: Generated) -> Writing:
    """What writing to this path would come to. Raises InputError if it holds something else."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return Writing.NEW
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path}: cannot be read ({error}); expected a generated file, or a new path"
        raise InputError(msg) from None
    if text == generated.text:
        return Writing.UNCHANGED
    name = _name_within(text)
    if name != generated.request.name:
        content = f"the NodePool {name}" if name else "something that was not generated"
        msg = f"{path}: holds {content} and is not replaced; expected another path"
        raise InputError(msg)
    return Writing.CHANGED


def generated_name(path: str) -> str:
    """The name of the NodePool that a file was generated for; empty if it was not generated."""
    try:
        return _name_within(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""


def write(path: str, generated: Generated) -> None:
    """Write the file, whole or not at all. Raises InputError."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.generated")
    try:
        temporary.write_text(generated.text, encoding="utf-8", newline="")
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        msg = f"{path}: cannot be written: {error.strerror}"
        raise InputError(msg) from None


def _content(path: str, stdin: BinaryIO) -> sources.SourceContent:
    if path == sources.STDIN:
        return sources.content(sources.Source(sources.STDIN_NAME), stdin)
    if not Path(path).is_file():
        msg = f"{path}: no such file; {_EXPECTED}"
        raise InputError(msg)
    return sources.content(sources.Source(path, Path(path)), stdin)


def _name_within(text: str) -> str:
    """The name of the NodePool of a generated file; empty if it was not generated."""
    embedded = embedded_request(text)
    if embedded is None:
        return ""
    try:
        trees = [tree for _, tree in yaml_trees.trees(embedded.encode())]
    except yaml_trees.YamlError:
        return ""
    first = trees[0] if trees else None
    return str(first.get("name", "")) if isinstance(first, dict) else ""
