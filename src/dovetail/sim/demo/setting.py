"""Creates the objects with which the demo begins, from manifests, and deletes old ones.

A demo may run for weeks: as a control plane does, events are deleted after an hour, and jobs after
a day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import Final

from dovetail import api
from dovetail.clock import Clock, Timer
from dovetail.errors import InputError
from dovetail.kube import yaml_trees
from dovetail.kube.errors import AlreadyExistsError, ApiError, NotFoundError
from dovetail.kube.seam import Deletion, Json, Kube, Ref, Scope
from dovetail.providers.kwok.plugin import PLUGIN

Obj = dict[str, Json]

_BEGINNING: Final = ("pools.yaml", "shop.yaml", "lab.yaml")
_FIRST: Final = ("Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "KWOKNodeClass")
_LAST: Final = ("Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
_NODE_CLASS: Final[Obj] = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "demo"}
_NAMESPACE: Final = api.KINDS["", "Namespace"]


class Setting:
    """Objects to begin with, and what was left out of what the user brought."""

    def __init__(self, trees: list[Obj]) -> None:
        self.trees = trees
        self.skipped: Counter[str] = Counter()
        self.adapted: list[str] = []


def demo_setting() -> Setting:
    """The little company of the demo."""
    return Setting([tree for name in _BEGINNING for tree in _read(name)])


def jobs() -> dict[str, Obj]:
    """The jobs that come in the course of the day, by name."""
    return {_name(tree): tree for tree in _read("jobs.yaml")}


def _read(name: str) -> Iterator[Obj]:
    data = (files("dovetail.sim.demo") / "manifests" / name).read_bytes()
    yield from (tree for _, tree in yaml_trees.trees(data) if isinstance(tree, dict))


def setting_of(directory: str) -> Setting:
    """What a user's directory holds, with a node class that pretends. Raises InputError."""
    place = Path(directory)
    if not place.is_dir():
        msg = f"--manifests: {directory}: not a directory"
        raise InputError(msg)
    paths = sorted(item for item in place.rglob("*") if item.suffix in {".yaml", ".yml", ".json"})
    result = Setting([tree for path in paths for tree in _documents(path)])
    if not result.trees:
        msg = f"--manifests: {directory}: holds no manifests (*.yaml, *.yml, *.json)"
        raise InputError(msg)
    pretended = [tree for tree in _read("pools.yaml") if tree.get("kind") == "KWOKNodeClass"]
    for tree in result.trees:
        _adapt(tree, result)
    result.trees += pretended
    return result


def _documents(path: Path) -> Iterator[Obj]:
    try:
        documents = [tree for _, tree in yaml_trees.trees(path.read_bytes())]
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise InputError(msg) from None
    except yaml_trees.YamlError as error:
        msg = f"{path}, document {error.document}: {error.message}"
        raise InputError(msg) from None
    for tree in documents:
        items = tree.get("items") if isinstance(tree, dict) else None
        for item in items if isinstance(items, list) else [tree]:
            if isinstance(item, dict):
                yield item


def _adapt(tree: Obj, setting: Setting) -> None:
    """Nodes of the demo are pretended, whatever node class a pool asks for."""
    if tree.get("kind") != "NodePool":
        return
    inner: Json = tree
    for field in ("spec", "template", "spec"):
        inner = inner.get(field) if isinstance(inner, dict) else None
    if isinstance(inner, dict) and inner.get("nodeClassRef") != _NODE_CLASS:
        inner["nodeClassRef"] = dict(_NODE_CLASS)
        setting.adapted.append(_name(tree))


async def settle(kube: Kube, setting: Setting) -> None:
    """Make the objects. Kinds that the demo does not know are counted. Raises InputError."""
    kinds = api.all_kinds((PLUGIN.extension,))
    for tree in sorted(setting.trees, key=_sort_key):
        kind = kinds.get((_group(tree), str(tree.get("kind"))))
        if kind is None:
            setting.skipped[str(tree.get("kind"))] += 1
            continue
        namespace = _namespace(tree) if kind.is_namespaced else ""
        try:
            if namespace:
                await _ensure_namespace(kube, namespace)
            await kube.create(kind, _clean(tree), namespace)
        except AlreadyExistsError:
            continue
        except ApiError as error:
            msg = f"--manifests: {kind.name} {_name(tree)}: {error}"
            raise InputError(msg) from None


async def _ensure_namespace(kube: Kube, name: str) -> None:
    try:
        await kube.create(_NAMESPACE, {"metadata": {"name": name}})
    except AlreadyExistsError:
        return


def _sort_key(tree: Obj) -> int:
    kind = str(tree.get("kind"))
    return 0 if kind in _FIRST else 2 if kind in _LAST else 1


def _clean(tree: Obj) -> Obj:
    """Without what a server wrote into it."""
    meta = tree.get("metadata")
    metadata = meta if isinstance(meta, dict) else {}
    written = {"resourceVersion", "uid", "creationTimestamp", "managedFields", "generation"}
    kept: Obj = {key: value for key, value in metadata.items() if key not in written}
    return {**{key: value for key, value in tree.items() if key != "status"}, "metadata": kept}


def _name(tree: Obj) -> str:
    meta = tree.get("metadata")
    return str(meta.get("name", "")) if isinstance(meta, dict) else ""


def _namespace(tree: Obj) -> str:
    meta = tree.get("metadata")
    return str(meta.get("namespace") or "default") if isinstance(meta, dict) else "default"


def _group(tree: Obj) -> str:
    version = str(tree.get("apiVersion", ""))
    return version.rsplit("/", 1)[0] if "/" in version else ""


def skipped_remark(kinds: Iterable[tuple[str, int]]) -> str:
    """What was left out, in a sentence; empty if nothing was."""
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds))
    return f"left out, since the demo does not know these kinds: {told}" if told else ""


_EVERY: Final = timedelta(minutes=30)
_KEPT_FOR: Final = (
    (api.Kind("", "v1", "Event", "events", api.Object), timedelta(hours=1)),
    (api.KINDS["batch", "Job"], timedelta(days=1)),
)


async def forget_the_old(kube: Kube, clock: Clock, timer: Timer) -> None:
    """Until cancelled."""
    while True:
        await timer.sleep(_EVERY.total_seconds())
        for kind, kept_for in _KEPT_FOR:
            await _forget(kube, clock, kind, kept_for)


async def _forget(kube: Kube, clock: Clock, kind: api.Kind, kept_for: timedelta) -> None:
    page = await kube.list(Scope(kind))
    oldest = clock.now() - kept_for
    for raw in page.items:
        meta = api.decode(api.Object, raw).metadata
        if meta.creation_timestamp is None or meta.creation_timestamp > oldest:
            continue
        try:
            await kube.delete(Ref(kind, meta.name, meta.namespace), Deletion(uid=meta.uid))
        except NotFoundError:
            continue
