"""Reads manifests into typed, validated objects that know where they come from.

YAML and JSON, one object or many, `List` objects and typed lists (`PodList`) all come out as one
flat sequence. `read` stops at the first thing wrong; `read_all_problems` collects them all. Numbers
beyond any cluster are typing mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, Final

import msgspec

from dovetail import api
from dovetail.api.checks import quantity_problems
from dovetail.api.validation import problems as field_problems
from dovetail.errors import InputError
from dovetail.kube import json_trees, sources, yaml_trees
from dovetail.kube.older_objects import OlderObjects
from dovetail.kube.typed import Intake
from dovetail.kube.unknown_fields import unknown_fields

_SCENARIO_KEYS: Final = frozenset({"given", "now", "want", "because"})
_DEFAULT_NAMESPACE: Final = "default"
_START: Final = 256  # bytes in which an object says what it is, if it says so first
_SAYS_FIRST: Final = re.compile(
    rb'\s*\{\s*"apiVersion"\s*:\s*"([^"\\]+)"\s*,\s*"kind"\s*:\s*"([^"\\]+)"'
)
_FINE_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,200}[a-z0-9])?")


class ManifestOrigin(msgspec.Struct, frozen=True, gc=False):
    """Where an object stood: the document counts from 1; `item` is its index in a list, or -1."""

    file: str
    document: int
    item: int = -1

    def __str__(self) -> str:
        item = f", items[{self.item}]" if self.item >= 0 else ""
        return f"{self.file}, document {self.document}{item}"


class Manifest(msgspec.Struct, frozen=True, gc=False):
    """One object that was understood."""

    origin: ManifestOrigin
    kind: api.Kind
    object: api.Object


class ScenarioFile(msgspec.Struct, frozen=True):
    """A scenario (given, now, want, because), left to whoever runs scenarios."""

    origin: ManifestOrigin
    content: dict[str, api.Tree]


class Manifests(msgspec.Struct, frozen=True):
    """Everything that was read. `skipped` counts objects of kinds that mean nothing here, `older`
    those that were converted to v1, with `warnings`.
    """

    manifests: tuple[Manifest, ...] = ()
    scenarios: tuple[ScenarioFile, ...] = ()
    skipped: Mapping[str, int] = {}
    older: Mapping[str, int] = {}
    warnings: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else is to be told of the input."""
        told = []
        if self.skipped:
            n_skipped = sum(self.skipped.values())
            plural = "" if n_skipped == 1 else "s"
            told.append(
                f"Skipped {n_skipped} object{plural} of other kinds: {_counts(self.skipped)}."
            )
        if self.older:
            plural = "" if len(self.warnings) == 1 else "s"
            told.append(
                f"Read as v1: {_counts(self.older)}, with {len(self.warnings)} warning{plural}; "
                "`dovetail convert` converts the manifests, `dovetail validate` lists the warnings."
            )
        return tuple(told)

    @property
    def all_remarks(self) -> tuple[str, ...]:
        """The same with every warning."""
        return (*self.remarks, *(f"warning: {warning}" for warning in self.warnings))

    @property
    def objects(self) -> tuple[api.Object, ...]:
        """The objects, without where they stood."""
        return tuple(manifest.object for manifest in self.manifests)

    @property
    def by_origin(self) -> tuple[tuple[str, api.Object], ...]:
        """The objects, each with where it stood."""
        return tuple((str(manifest.origin), manifest.object) for manifest in self.manifests)


Report = Callable[[InputError], None]
Content = msgspec.Raw | bytes  # JSON


def read(
    names: Sequence[str], stdin: BinaryIO, extensions: Sequence[api.Extension] = ()
) -> Manifests:
    """All objects in these files, directories and standard input ("-"). Raises InputError.

    `extensions` are what providers add; node classes of others are skipped.
    """
    return _Reader(_raise, extensions).read(names, stdin)


def read_all_problems(
    names: Sequence[str], stdin: BinaryIO, extensions: Sequence[api.Extension] = ()
) -> tuple[Manifests, tuple[InputError, ...]]:
    """As `read`, but going on after whatever is wrong: what could be read, and every problem.
    Fields that custom resources do not have are problems, too.
    """
    problems: list[InputError] = []
    manifests = _Reader(problems.append, extensions, is_strict=True).read(names, stdin)
    return manifests, tuple(problems)


def from_trees(
    trees: Sequence[api.Tree], name: str, extensions: Sequence[api.Extension] = ()
) -> Manifests:
    """The same for objects that are already in memory, such as a scenario's."""
    reader = _Reader(_raise, extensions)
    for number, tree in enumerate(trees, start=1):
        reader.admit(ManifestOrigin(name, number), tree)
    return reader.result()


def _raise(error: InputError) -> None:
    raise error


class _Reader:
    """What was read so far."""

    def __init__(
        self, report: Report, extensions: Sequence[api.Extension], *, is_strict: bool = False
    ) -> None:
        self._report = report
        self._is_strict = is_strict
        self._extensions = extensions
        self._kinds = api.all_kinds(extensions)
        self._manifests: list[Manifest] = []
        self._scenarios: list[ScenarioFile] = []
        self._skipped: dict[str, int] = {}
        self._origins: dict[tuple[str, str, str, str], ManifestOrigin] = {}
        self._judged: dict[bytes, tuple[api.FieldProblem, ...]] = {}
        self._n_generated: dict[str, int] = {}
        self._intake = Intake()
        self._older = OlderObjects[ManifestOrigin](extensions)

    def read(self, names: Sequence[str], stdin: BinaryIO) -> Manifests:
        for source in sources.sources(names):
            if isinstance(source, InputError):
                self._report(source)
                continue
            try:
                self._read_one(sources.content(source, stdin))
            except InputError as error:
                self._report(error)
        return self.result()

    def result(self) -> Manifests:
        for origin, tree, data in self._older.convert(self._report):
            try:
                self._admit_kind(origin, str(tree["apiVersion"]), str(tree["kind"]), data)
            except api.DecodeError as error:
                self._report(InputError(f"{origin}: {error.problem}"))
        return Manifests(
            tuple(self._manifests),
            tuple(self._scenarios),
            self._skipped,
            self._older.n_by_kind,
            tuple(self._older.warnings),
        )

    def _read_one(self, content: sources.SourceContent) -> None:
        n_documents = 0
        self._older.begin(content.data)
        for document, tree in _documents(content):
            n_documents += 1
            self.admit(ManifestOrigin(content.name, document), tree)
        if not n_documents:
            msg = (
                f"{content.name}, document 1: nothing but comments; expected at least one object "
                "with apiVersion and kind"
            )
            raise InputError(msg)

    def admit(self, origin: ManifestOrigin, tree: api.Envelope | msgspec.Raw | api.Tree) -> None:
        """Take in one document, whatever it turns out to be; an envelope is that of a list."""
        try:
            if isinstance(tree, api.Envelope):
                self._admit_items(origin, tree)
            else:
                self._admit(origin, tree, "", "")
        except api.DecodeError as error:
            self._report(InputError(f"{origin}: {error.problem}"))
        except RecursionError:
            self._report(InputError(f"{origin}: nested too deep; expected a manifest"))

    def _admit(
        self, origin: ManifestOrigin, tree: msgspec.Raw | api.Tree, api_version: str, kind: str
    ) -> None:
        data = tree if isinstance(tree, msgspec.Raw) else msgspec.Raw(api.encode(tree))
        start = bytes(memoryview(data)[:_START])
        if self._admit_typed(origin, start, data):
            return
        if not start.lstrip().startswith(b"{"):
            self._refuse(origin, _name_of(msgspec.json.decode(data)))
            return
        envelope = api.decode(api.Envelope, data)
        api_version, kind = envelope.api_version or api_version, envelope.kind or kind
        if not api_version or not kind:
            self._admit_untyped(origin, data, "kind" if api_version else "apiVersion")
        elif json_trees.is_list(api_version, kind):
            typed = msgspec.structs.replace(envelope, api_version=api_version, kind=kind)
            self._admit_items(origin, typed)
        else:
            self._admit_object(origin, api_version, kind, data)

    def _admit_typed(self, origin: ManifestOrigin, start: bytes, data: msgspec.Raw) -> bool:
        """Take in an object that says first what it is, as nearly all do: they are read once, and
        not a first time for what they are. Whatever is odd about one is left to be found out.
        """
        match = _SAYS_FIRST.match(start)
        if match is None:
            return False
        api_version, name = (group.decode(errors="replace") for group in match.groups())
        kind = api.find(api_version, name, self._kinds)
        if kind is None or self._older.may_take(api_version, name):
            return False
        try:
            item = _read(kind, data)
        except api.DecodeError:
            return False
        if (item.api_version.encode(), item.kind.encode()) != match.groups():
            return False
        self._admit_named(origin, kind, item, data)
        return True

    def _admit_untyped(self, origin: ManifestOrigin, data: msgspec.Raw, missing: str) -> None:
        tree: api.Tree = msgspec.json.decode(data)
        if isinstance(tree, dict) and "given" in tree and tree.keys() <= _SCENARIO_KEYS:
            self._scenarios.append(ScenarioFile(origin, tree))
        else:
            self._refuse(origin, f"no {missing}")

    def _refuse(self, origin: ManifestOrigin, text: str) -> None:
        msg = f"{origin}: found {text}; expected an object with apiVersion and kind"
        self._report(InputError(msg))

    def _admit_items(self, origin: ManifestOrigin, envelope: api.Envelope) -> None:
        kind = envelope.kind.removesuffix("List")
        of_items = envelope.api_version if kind else ""
        for at, item in enumerate(envelope.items):
            place = ManifestOrigin(origin.file, origin.document, at)
            try:
                self._admit(place, item, of_items, kind)
            except api.DecodeError as error:
                self._report(InputError(f"{place}: {error.problem}"))

    def _admit_object(
        self, origin: ManifestOrigin, api_version: str, name: str, data: msgspec.Raw
    ) -> None:
        if self._older.may_take(api_version, name) and self._older.takes(
            origin, api_version, name, bytes(data)
        ):
            return
        self._admit_kind(origin, api_version, name, data)

    def _admit_kind(
        self, origin: ManifestOrigin, api_version: str, name: str, data: Content
    ) -> None:
        kind = api.find(api_version, name, self._kinds)
        if kind is None:
            group = api_version.partition("/")[0] if "/" in api_version else ""
            full = f"{name}.{group}" if group else name
            self._skipped[full] = self._skipped.get(full, 0) + 1
            return
        self._admit_named(origin, kind, _read(kind, data), data)

    def _admit_named(
        self, origin: ManifestOrigin, kind: api.Kind, unnamed: api.Object, data: Content
    ) -> None:
        item = self._with_name(unnamed)
        content = item.spec.content() if isinstance(item, api.Pod) else b""
        problems = (
            *self._name_problems(origin, kind, item.metadata),
            *(unknown_fields(kind, msgspec.json.decode(data)) if self._is_strict else ()),
            *self._field_problems(item, content),
        )
        for problem in problems:
            self._report(InputError(f"{origin}: {problem}"))
        if not problems:
            kept = self._intake.pod(item, content) if isinstance(item, api.Pod) else item
            self._manifests.append(Manifest(origin, kind, kept))

    def _with_name(self, item: api.Object) -> api.Object:
        """With a name, if it only has the beginning of one."""
        meta = item.metadata
        if meta.name or not meta.generate_name:
            return item
        number = self._n_generated.get(meta.generate_name, 0)
        self._n_generated[meta.generate_name] = number + 1
        named = msgspec.structs.replace(meta, name=f"{meta.generate_name}{number}")
        return msgspec.structs.replace(item, metadata=named)

    def _name_problems(
        self, origin: ManifestOrigin, kind: api.Kind, meta: api.ObjectMeta
    ) -> tuple[api.FieldProblem, ...]:
        if not meta.name:
            return (api.FieldProblem("metadata.name", "missing; expected a name"),)
        namespace = (meta.namespace or _DEFAULT_NAMESPACE) if kind.is_namespaced else ""
        earlier = self._origins.setdefault((kind.group, kind.name, namespace, meta.name), origin)
        if earlier is origin:
            return ()
        full = f"{namespace}/{meta.name}" if namespace else meta.name
        message = f"{kind.name} {full} is already in {earlier}; expected each object once"
        return (api.FieldProblem("metadata.name", message),)

    def _field_problems(self, item: api.Object, content: bytes) -> tuple[api.FieldProblem, ...]:
        """What is wrong with its fields; pods of one template are judged once."""
        if not isinstance(item, api.Pod) or not _FINE_NAME.fullmatch(item.metadata.name):
            return (*field_problems(item, self._extensions), *figure_problems(item))
        judged = self._judged.get(content)
        if judged is None:
            judged = self._judged[content] = tuple(field_problems(item))
        return judged


def _documents(
    content: sources.SourceContent,
) -> Iterator[tuple[int, api.Envelope | msgspec.Raw | api.Tree]]:
    if content.looks_like_json:
        yield from json_trees.documents(content.name, content.data)
        return
    try:
        yield from yaml_trees.trees(content.data)
    except yaml_trees.YamlError as error:
        msg = f"{content.name}, document {error.document}: {error.message}"
        raise InputError(msg) from None


def _read(kind: api.Kind, data: Content) -> api.Object:
    """The object. What stays undecoded would hold on to the whole input, so what it is read from
    is its own, but for pods, whose parts are copied by those who keep them.
    """
    return api.read(kind, data if kind.wire_type is api.Pod else bytes(data))


def _counts(n_by_kind: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} ({count})" for kind, count in sorted(n_by_kind.items()))


def _name_of(tree: api.Tree) -> str:
    names = {str: "text", list: "a list", type(None): "null", bool: "true or false"}
    return names.get(type(tree), "a number")


MOST_PODS: Final = 1_000_000


def figure_problems(item: api.Object) -> Iterator[api.FieldProblem]:
    """Every number of pods that is out of reach, and every bad amount in a claim's status."""
    for field, stated in _pod_counts(item):
        if stated is not None and stated > MOST_PODS:
            yield api.FieldProblem(field, f"{stated} is too large; expected at most {MOST_PODS}")
    if isinstance(item, api.NodeClaim):
        by_field = (("capacity", item.status.capacity), ("allocatable", item.status.allocatable))
        for field, amounts in by_field:
            for name, amount in sorted(amounts.items()):
                yield from quantity_problems(amount, f"status.{field}.{name}")


def _pod_counts(item: api.Object) -> Iterator[tuple[str, int | None]]:
    match item:
        case api.Deployment() | api.ReplicaSet() | api.StatefulSet() | api.ReplicationController():
            yield "spec.replicas", item.spec.replicas
        case api.Job():
            yield "spec.parallelism", item.spec.parallelism
        case api.CronJob():
            yield "spec.jobTemplate.spec.parallelism", item.spec.job_template.spec.parallelism
        case api.CapacityBuffer():
            yield "spec.replicas", item.spec.replicas
            yield "spec.percentage", item.spec.percentage
        case _:
            return
