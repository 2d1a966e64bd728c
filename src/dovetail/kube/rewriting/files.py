"""Converts the objects of manifests to v1, and writes each file with what did not change as it was.

The result is read again before it is given back: text that would not be read as the converted
objects is replaced by one without comments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from typing import BinaryIO, Final

import msgspec

from dovetail import api
from dovetail.api.older.door import ConversionOptions
from dovetail.api.older.draft import NOWHERE, Fields, Path, as_fields
from dovetail.api.older.engine import ConvertedObject, Engine, Outcome
from dovetail.errors import InputError
from dovetail.kube import json_trees, sources, yaml_trees
from dovetail.kube.manifests import ManifestOrigin
from dovetail.kube.rewriting.layout import YamlLayout
from dovetail.kube.rewriting.rendering import Rendering, plain_lines

_ITEMS: Final = "items"


class ConvertedManifest(msgspec.Struct, frozen=True):
    """An object that changes: where it stands, what it was, and what it becomes."""

    origin: ManifestOrigin
    before: str
    after: tuple[str, ...]


class ConvertedFile(msgspec.Struct, frozen=True):
    """A file and its text after conversion; `path` None is standard input."""

    name: str
    path: FilePath | None
    text: str
    changes: tuple[ConvertedManifest, ...] = ()


class ConvertedFiles(msgspec.Struct, frozen=True):
    """What became of all files. `errors` are of objects and files that stay as they are."""

    files: tuple[ConvertedFile, ...]
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[ConvertedManifest, ...]:
        """All objects that change."""
        return tuple(change for file in self.files for change in file.changes)


class _Object(msgspec.Struct, frozen=True):
    """An object, and the document that it stands in; `item` is its index in a list, or -1."""

    document: int
    item: int
    tree: Fields


class _Text(msgspec.Struct, frozen=True):
    """A file that was read: its documents by number, each a tree, and the objects in them."""

    source: sources.Source
    text: str
    is_json: bool
    documents: dict[int, api.Tree]
    objects: tuple[_Object, ...]


def convert_files(
    names: Sequence[str],
    stdin: BinaryIO,
    extensions: Sequence[api.Extension],
    options: ConversionOptions,
) -> ConvertedFiles:
    """Convert all objects in these files, directories and standard input ("-")."""
    texts: list[_Text] = []
    errors: list[str] = []
    for source in sources.sources(names):
        try:
            texts.append(_read(source, stdin))
        except InputError as error:
            errors.append(str(error))
    providers = [extension.older for extension in extensions if extension.older is not None]
    objects = [item.tree for text in texts for item in text.objects]
    outcomes = iter(Engine(providers, options).convert(objects))
    return _Report(extensions, errors).files(
        [(t, [next(outcomes) for _ in t.objects]) for t in texts]
    )


def _read(source: sources.Source | InputError, stdin: BinaryIO) -> _Text:
    if isinstance(source, InputError):
        raise source
    content = sources.content(source, stdin)
    documents, is_json = _documents(content)
    objects = [item for number, tree in documents.items() for item in _objects(number, tree)]
    return _Text(source, content.data.decode(), is_json, documents, tuple(objects))


def _documents(content: sources.SourceContent) -> tuple[dict[int, api.Tree], bool]:
    """The documents by number, and whether they are JSON."""
    if content.looks_like_json and not _is_flow_yaml(content):
        trees = json_trees.documents(content.name, content.data)
        return {number: msgspec.json.decode(api.encode(tree)) for number, tree in trees}, True
    try:
        return dict(yaml_trees.trees(content.data)), False
    except yaml_trees.YamlError as error:
        msg = f"{content.name}, document {error.document}: {error.message}"
        raise InputError(msg) from None


def _is_flow_yaml(content: sources.SourceContent) -> bool:
    """Whether text that begins like JSON is YAML, and no JSON."""
    try:
        list(json_trees.documents(f"{content.name}.json", content.data))
    except InputError:
        return not content.name.endswith(".json") and _is_yaml(content.data)
    return False


def _is_yaml(data: bytearray) -> bool:
    try:
        return bool(list(yaml_trees.trees(data)))
    except yaml_trees.YamlError:
        return False


def _objects(number: int, tree: api.Tree) -> Iterator[_Object]:
    fields = as_fields(tree)
    kind, version = str(fields.get("kind", "")), str(fields.get("apiVersion", ""))
    items = fields.get(_ITEMS)
    if not isinstance(items, list) or not json_trees.is_list(version, kind):
        yield _Object(number, -1, fields)
        return
    typed: Fields = {"apiVersion": version, "kind": kind.removesuffix("List")}
    for index, item in enumerate(items):
        if isinstance(item, dict):
            yield _Object(number, index, (typed | item) if kind != "List" else item)


class _Report:
    """Writes files, and gathers what is to be told."""

    def __init__(self, extensions: Sequence[api.Extension], errors: list[str]) -> None:
        self._extensions = extensions
        self._kinds = api.all_kinds(extensions)
        self._errors = errors
        self._warnings: list[str] = []

    def files(self, converted: Sequence[tuple[_Text, list[Outcome]]]) -> ConvertedFiles:
        files = tuple(self._file(text, outcomes) for text, outcomes in converted)
        return ConvertedFiles(files, tuple(self._warnings), tuple(self._errors))

    def _file(self, text: _Text, outcomes: list[Outcome]) -> ConvertedFile:
        changes = []
        for given, outcome in zip(text.objects, outcomes, strict=True):
            origin = ManifestOrigin(text.source.name, given.document, given.item)
            self._tell(f"{origin}: {_title(given.tree)}", outcome)
            if outcome.is_changed:
                after = tuple(_description(part.tree) for part in (outcome.object, *outcome.added))
                changes.append(ConvertedManifest(origin, _description(given.tree), after))
        result = _rewrite(text, outcomes) if changes else text.text
        if changes and not text.is_json:
            lost = Counter(YamlLayout(text.text).comments()) - Counter(
                YamlLayout(result).comments()
            )
            self._warnings += [
                f"{text.source.name}: the comment {comment!r} is of a field that is gone; left out"
                for comment in lost
            ]
        return ConvertedFile(text.source.name, text.source.path, result, tuple(changes))

    def _tell(self, title: str, outcome: Outcome) -> None:
        for notice in outcome.notices:
            field = f"{notice.field}: " if notice.field else ""
            (self._errors if notice.is_error else self._warnings).append(
                f"{title}: {field}{notice.message}"
            )
        if outcome.is_changed:
            for new in (outcome.object, *outcome.added):
                for problem in self._problems(new.tree):
                    self._warnings.append(
                        f"{title}: the converted {_title(new.tree)} breaks a rule of v1: {problem}"
                    )

    def _problems(self, tree: Fields) -> Sequence[api.FieldProblem]:
        kind = api.find(str(tree.get("apiVersion")), str(tree.get("kind")), self._kinds)
        if kind is None:
            return ()
        try:
            return tuple(api.problems(api.read(kind, tree), self._extensions))
        except api.DecodeError as error:
            return (error.problem,)


def _title(tree: Fields) -> str:
    name = as_fields(tree.get("metadata")).get("name") or "without a name"
    return f"{tree.get('kind') or 'object'} {name}"


def _description(tree: Fields) -> str:
    return f"{_title(tree)} ({tree.get('apiVersion')})"


def _rewrite(text: _Text, outcomes: Sequence[Outcome]) -> str:
    by_document: dict[int, list[tuple[_Object, Outcome]]] = {}
    for given, outcome in zip(text.objects, outcomes, strict=True):
        by_document.setdefault(given.document, []).append((given, outcome))
    changed = {
        number: _new_content(text.documents[number], objects)
        for number, objects in by_document.items()
        if any(outcome.is_changed for _, outcome in objects)
    }
    want: list[api.Tree] = []
    for number, tree in text.documents.items():
        want += [part.tree for part in changed[number]] if number in changed else [tree]
    if text.is_json:
        return "".join(_json_text(tree) for tree in want)
    layout = YamlLayout(text.text)
    for keeps_comments in (True, False):
        result = _with_documents(text, layout, changed, keeps_comments=keeps_comments)
        if _reads_as(result, want):
            return result
    msg = f"{text.source.name}: cannot be rewritten; convert its objects one by one"
    raise InputError(msg)


def _new_content(
    tree: api.Tree, objects: Sequence[tuple[_Object, Outcome]]
) -> list[ConvertedObject]:
    """What a document becomes: itself, then what is new; a list stays one document."""
    if objects[0][0].item < 0:
        [(_, outcome)] = objects
        return [outcome.object, *outcome.added]
    given = {item.item: outcome for item, outcome in objects}
    items: list[api.Tree] = []
    moves: dict[Path, Path] = {}
    old = as_fields(tree).get(_ITEMS)
    for index, item in enumerate(old if isinstance(old, list) else []):
        if index not in given:
            moves[_ITEMS, len(items)] = (_ITEMS, index)
            items.append(item)
            continue
        for part in (given[index].object, *given[index].added):
            at = (_ITEMS, len(items))
            moves[at] = (_ITEMS, index)
            moves |= {(*at, *path): _new_path(index, origin) for path, origin in part.moves.items()}
            items.append(part.tree)
    whole = as_fields(tree) | {"apiVersion": "v1", "kind": "List", _ITEMS: items}
    return [ConvertedObject(whole, moves)]


def _new_path(index: int, origin: Path) -> Path:
    return origin if origin == NOWHERE else (_ITEMS, index, *origin)


def _with_documents(
    text: _Text,
    layout: YamlLayout,
    changed: dict[int, list[ConvertedObject]],
    *,
    keeps_comments: bool,
) -> str:
    lines = [line.rstrip("\r") for line in layout.lines]
    for number in sorted(changed, reverse=True):
        document = layout.documents[number - 1]
        root, source = document.root, text.documents[number]
        rendered = [
            Rendering(layout, root, source, part.moves).lines(part.tree)
            if keeps_comments
            else plain_lines(part.tree)
            for part in changed[number]
        ]
        end = document.end_line
        if end == len(lines) and not lines[-1]:
            end -= 1
        added = [line for more in rendered[1:] for line in ("---", *more)]
        lines[end:end] = added
        before = lines[root.start.line][: root.start.column].rstrip()
        lines[root.start.line : root.end.line + 1] = [*([before] if before else []), *rendered[0]]
    return ("\r\n" if "\r\n" in text.text else "\n").join(lines)


def _reads_as(text: str, want: Sequence[api.Tree]) -> bool:
    try:
        got = [tree for _, tree in yaml_trees.trees(text.encode())]
    except yaml_trees.YamlError:
        return False
    return [_content(tree) for tree in got] == [_content(tree) for tree in want]


def _content(tree: api.Tree) -> bytes:
    return msgspec.json.encode(tree, order="deterministic")


def _json_text(tree: api.Tree) -> str:
    return msgspec.json.format(api.encode(tree), indent=2).decode() + "\n"
