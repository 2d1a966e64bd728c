"""Groups pods that are alike in everything that scheduling can see.

Work grows with groups, not with pods. Pods of one template share a `PodSpec` object, so the first
key is its identity; equal content in different objects is then merged by its canonical bytes, so
that a snapshot read back from a file groups in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final

import msgspec

from dovetail.model.pod import DaemonSet, Pod, PodSpec
from dovetail.model.topology import LabelSelector
from dovetail.model.volumes import NO_VOLUMES, PodVolumes

_CANONICAL: Final = msgspec.msgpack.Encoder(order="deterministic")

_by_name: Final[Callable[[Pod], tuple[str, str]]] = attrgetter("namespace", "name")

Profile = tuple[str, tuple[str | None, ...]]  # namespace, values of the labels that selectors read


class Group(msgspec.Struct, frozen=True, gc=False):
    """Pods alike. `pods` are sorted by name; `profile` is what selectors can see of them."""

    spec: PodSpec
    profile: Profile
    volumes: PodVolumes
    pods: tuple[Pod, ...]
    labels: Mapping[str, str]  # of the first pod: matchLabelKeys are resolved from it
    spec_key: bytes

    @property
    def namespace(self) -> str:
        """Where its pods live."""
        return self.profile[0]


def selectors_of(spec: PodSpec) -> Iterable[tuple[LabelSelector, tuple[str, ...]]]:
    """Every selector in a spec that reads pod labels, with the label keys it takes from the pod."""
    for spread in spec.spread:
        yield spread.selector, spread.match_label_keys
    for term in (*spec.affinity, *spec.anti_affinity):
        yield term.selector, (*term.match_label_keys, *term.mismatch_label_keys)
    for _, term in (*spec.preferred_affinity, *spec.preferred_anti_affinity):
        yield term.selector, (*term.match_label_keys, *term.mismatch_label_keys)


def read_labels(specs: Iterable[PodSpec], daemon_sets: Iterable[DaemonSet]) -> tuple[str, ...]:
    """The pod labels that any selector reads, sorted.

    Of what daemon sets say of others, only whom they keep away matters to anybody else.
    """
    keys: set[str] = set()
    shy = [PodSpec({}, anti_affinity=daemon_set.spec.anti_affinity) for daemon_set in daemon_sets]
    for spec in (*specs, *shy):
        if not is_about_pods(spec):
            continue
        for selector, more in selectors_of(spec):
            for requirement in selector.expressions:
                keys.add(requirement.key)
            keys.update(more)
    return tuple(sorted(keys))


def is_about_pods(spec: PodSpec) -> bool:
    """Whether a spec says anything about other pods, wishes included; most say nothing."""
    return bool(
        spec.spread
        or spec.affinity
        or spec.anti_affinity
        or spec.preferred_affinity
        or spec.preferred_anti_affinity
    )


def distinct_specs(pods: Iterable[Pod]) -> list[PodSpec]:
    """Each spec object once."""
    return list({id(pod.spec): pod.spec for pod in pods}.values())


def spec_key_of(spec: PodSpec) -> bytes:
    """The same bytes for equal content."""
    return _CANONICAL.encode(spec)


def profile_of(pod: Pod, keys: tuple[str, ...]) -> Profile:
    """What selectors can see of a pod."""
    labels = pod.labels
    return (pod.namespace, tuple([labels.get(key) for key in keys]))


def group_pods(
    pods: Sequence[Pod],
    keys: tuple[str, ...],
    volumes: Mapping[str, PodVolumes],
    bound_volumes: Mapping[str, PodVolumes],
) -> list[Group]:
    """Pods alike, in an order that does not depend on the order of the input, nor on names unless
    all else is equal.
    """
    merged = _merge_alike(pods, keys, anonymous(volumes, bound_volumes) if volumes else {})
    groups = []
    for (spec_key, asked, profile), alike in merged:
        if len(alike) > 1:
            alike.sort(key=_by_name)
        first = alike[0]
        groups.append(Group(first.spec, profile, asked, tuple(alike), first.labels, spec_key))
    # By what pods ask for, not by their names, so that names do not decide between equal plans.
    groups.sort(key=lambda group: (group.spec_key, group.profile[0], _by_name(group.pods[0])))
    return groups


def _merge_alike(
    pods: Sequence[Pod], keys: tuple[str, ...], asked: Mapping[str, PodVolumes]
) -> list[tuple[tuple[bytes, PodVolumes, Profile], list[Pod]]]:
    """Pods alike, with what makes them so. Numbers stand for specs, volumes and labels while they
    are told apart, since those take long to compare; many pods share the same objects.
    """
    number_of: dict[bytes, int] = {}
    number_of_volumes = {NO_VOLUMES: 0}
    number_of_seen: dict[tuple[str | None, ...], int] = {}
    number_of_object: dict[int, int] = {}  # of specs and labels, by identity
    merged: dict[tuple[int, int, int, str], list[Pod]] = {}
    for pod in pods:
        labels, spec, volumes = pod.labels, pod.spec, 0
        number = number_of_object.get(id(spec))
        if number is None:
            number = number_of.setdefault(spec_key_of(spec), len(number_of))
            number_of_object[id(spec)] = number
        seen = number_of_object.get(id(labels))
        if seen is None:
            values = tuple([labels.get(name) for name in keys])
            seen = number_of_seen.setdefault(values, len(number_of_seen))
            number_of_object[id(labels)] = seen
        if pod.claim_names:
            mine = asked.get(pod.key, NO_VOLUMES)
            volumes = number_of_volumes.setdefault(mine, len(number_of_volumes))
        key = (number, volumes, seen, pod.namespace)
        alike = merged.get(key)
        if alike is None:
            merged[key] = [pod]
        else:
            alike.append(pod)
    specs, wanted, profiles = list(number_of), list(number_of_volumes), list(number_of_seen)
    return [
        ((specs[number], wanted[volumes], (namespace, profiles[seen])), alike)
        for (number, volumes, seen, namespace), alike in merged.items()
    ]


def anonymous(
    volumes: Mapping[str, PodVolumes], bound_volumes: Mapping[str, PodVolumes]
) -> dict[str, PodVolumes]:
    """Volumes without the names of claims that only one pod uses: those pods are alike."""
    uses: dict[str, int] = {}
    for pod_volumes in (*volumes.values(), *bound_volumes.values()):
        for _, claims in pod_volumes.attachments:
            for claim in claims:
                uses[claim] = uses.get(claim, 0) + 1
    return {
        key: PodVolumes(
            pod_volumes.alternatives,
            tuple(
                (driver, tuple(claim if uses[claim] > 1 else "" for claim in claims))
                for driver, claims in pod_volumes.attachments
            ),
        )
        for key, pod_volumes in volumes.items()
    }
