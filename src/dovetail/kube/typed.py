"""Decodes the JSON of the seam to wire types, small enough for a whole cluster of them.

Pods are nearly all there is, and nearly all of a pod is its template. What pods have in common is
held once, and what no decision reads is dropped: conditions about containers, annotations of
networks and tools, volumes that are no claims. An object that cannot be read becomes a report.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime
from hashlib import blake2b
from typing import Final, Generic, TypeVar

import msgspec

from dovetail import api, labels
from dovetail.api.core import ContainerStatus, PodStatus, PodVolume

_CONDITIONS: Final = frozenset({"PodScheduled", "Ready", "DisruptionTarget"})
_DOMAINS: Final = ("kubernetes.io", "k8s.io", "karpenter.sh", "dovetail.sh")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MANY: Final = 1 << 14  # templates, and what goes with them
_FEW: Final = 1 << 10  # what only neighbours have in common: moments
_UNNAMED: Final = api.ObjectMeta()
_POD_VERSION: Final = "v1"
_POD: Final = "Pod"

_Labels = dict[str, str]
T = TypeVar("T")


class Shared(Generic[T]):
    """One of each, by key, of about `capacity` that were met last."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._recent: dict[Hashable, T] = {}
        self._older: dict[Hashable, T] = {}

    def __len__(self) -> int:
        return len(self._recent) + len(self._older)

    def get(self, key: Hashable) -> T | None:
        """What is held under this key."""
        result = self._recent.get(key)
        if result is None:
            result = self._older.pop(key, None)
            if result is not None:
                self.put(key, result)
        return result

    def put(self, key: Hashable, value: T) -> None:
        """Hold a value; the older half makes room when the other is full."""
        if len(self._recent) >= self._capacity:
            self._older, self._recent = self._recent, {}
        self._recent[key] = value

    def equal(self, key: Hashable, value: T) -> T:
        """The value first put under this key, if it is equal; else the one given."""
        known = self.get(key)
        if known is None:
            self.put(key, value)
            return value
        return known if known == value else value


class Unreadable(msgspec.Struct, frozen=True, gc=False):
    """An object that does not have the shape of its kind, as far as it can be named."""

    kind: api.Kind
    namespace: str
    name: str
    problem: str

    def __str__(self) -> str:
        path = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.kind.name} {path or 'without a name'}: {self.problem}"


class _Name(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Named(msgspec.Struct, frozen=True):
    metadata: _Name = _Name()


_names: Final = msgspec.json.Decoder(_Named)


class Intake:
    """Reads objects, and remembers what they have in common."""

    def __init__(self) -> None:
        self._texts: Shared[str] = Shared(_MANY)
        self._instants: Shared[datetime] = Shared(_FEW)
        self._labels: Shared[_Labels] = Shared(_MANY)
        self._owners: Shared[tuple[api.OwnerReference, ...]] = Shared(_MANY)
        self._conditions: Shared[tuple[api.Condition, ...]] = Shared(_FEW)
        self._statuses: Shared[tuple[ContainerStatus, ...]] = Shared(_MANY)
        self._specs: Shared[api.PodSpec] = Shared(_MANY)

    def read(self, kind: api.Kind, data: msgspec.Raw) -> api.Object | Unreadable:
        """The object; what it keeps holds on to nothing but itself."""
        try:
            # What stays undecoded would hold on to the whole page, but a pod's parts are copied.
            own = data if kind.wire_type is api.Pod else bytes(data)
            item = api.read(kind, own)
        except api.DecodeError as error:
            name = _name(data)
            return Unreadable(kind, name.namespace, name.name, str(error))
        if isinstance(item, api.Pod):
            return self.pod(item, item.spec.content())
        return msgspec.structs.replace(
            item,
            api_version=self._text(kind.api_version),
            kind=kind.name,
            metadata=self._meta(item.metadata),
        )

    def pod(self, pod: api.Pod, content: bytes) -> api.Pod:
        """The same pod, with what decisions read of it; `content` is that of its spec."""
        return api.Pod(
            api_version=_POD_VERSION,
            kind=_POD,
            metadata=self._meta(pod.metadata, _DOMAINS),
            spec=self._spec(pod.spec, content),
            status=self._status(pod.status),
        )

    def _meta(self, meta: api.ObjectMeta, domains: tuple[str, ...] = ("",)) -> api.ObjectMeta:
        """Annotations are kept if they are of one of these domains, or a provider's; an empty one
        means of any.
        """
        annotations = meta.annotations and {
            key: value
            for key, value in meta.annotations.items()
            if (key.partition("/")[0].endswith(domains) or labels.is_of_provider(key))
            and key != _LAST_APPLIED
        }
        owners = meta.owner_references
        return msgspec.structs.replace(
            meta,
            generate_name=self._text(meta.generate_name),
            namespace=self._text(meta.namespace),
            labels=self._mapping(meta.labels),
            annotations=self._mapping(annotations),
            creation_timestamp=self._instant(meta.creation_timestamp),
            owner_references=self._owners.equal(hash(owners), owners) if owners else (),
        )

    def _spec(self, spec: api.PodSpec, content: bytes) -> api.PodSpec:
        key = blake2b(content, digest_size=16).digest()
        template = self._specs.get(key)
        if template is None:
            template = _detach(spec)
            self._specs.put(key, template)
        volumes = tuple([volume for volume in spec.volumes if _has_claim(volume)])
        deadline = spec.active_deadline_seconds
        if not volumes and not spec.node_name and deadline is None:
            return template
        return msgspec.structs.replace(
            template,
            node_name=self._text(spec.node_name),
            volumes=volumes,
            active_deadline_seconds=deadline,
        )

    def _status(self, status: PodStatus) -> PodStatus:
        conditions = tuple(
            self._condition(item) for item in status.conditions if item.type in _CONDITIONS
        )
        return PodStatus(
            phase=self._text(status.phase),
            conditions=self._conditions.equal(hash(conditions), conditions),
            nominated_node_name=self._text(status.nominated_node_name),
            start_time=self._instant(status.start_time),
            container_statuses=self._shared_statuses(status.container_statuses),
            init_container_statuses=self._shared_statuses(status.init_container_statuses),
        )

    def _condition(self, condition: api.Condition) -> api.Condition:
        return api.Condition(
            type=self._text(condition.type),
            status=self._text(condition.status),
            reason=self._text(condition.reason),
            message=self._text(condition.message),
            last_transition_time=self._instant(condition.last_transition_time),
            observed_generation=condition.observed_generation,
        )

    def _shared_statuses(
        self, statuses: tuple[ContainerStatus, ...]
    ) -> tuple[ContainerStatus, ...]:
        if not statuses:
            return ()
        told = tuple(item for item in statuses if item.allocated_resources or item.resources)
        return self._statuses.equal(hash(api.encode(told)), told) if told else ()

    def _mapping(self, mapping: _Labels) -> _Labels:
        if not mapping:
            return _UNNAMED.labels
        return self._labels.equal(hash(frozenset(mapping.items())), mapping)

    def _text(self, text: str) -> str:
        if not text:
            return ""
        result = self._texts.get(text)
        if result is None:
            self._texts.put(text, text)
            return text
        return result

    def _instant(self, instant: datetime | None) -> datetime | None:
        return self._instants.equal(instant, instant) if instant else None


def _detach(spec: api.PodSpec) -> api.PodSpec:
    """The template of a pod, in bytes of its own; without what `content` leaves out."""
    template = msgspec.structs.replace(spec, node_name="", volumes=(), active_deadline_seconds=None)
    return api.decode(api.PodSpec, api.encode(template))


def _has_claim(volume: PodVolume) -> bool:
    return volume.persistent_volume_claim is not None or volume.ephemeral is not None


def _name(data: msgspec.Raw) -> _Name:
    try:
        return _names.decode(data).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Name()
