"""Are there any pods of the kind that an affinity asks for?"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.model.pod import Pod
from dovetail.model.requirements import Requirement
from dovetail.model.topology import PodTerm, narrowed

_NONE: frozenset[int] = frozenset()


class Gathering:
    """The labels of all pods that have a node, read when the first affinity asks for them.

    Where nobody knows who has a node (None), nobody is said to be alone.
    """

    def __init__(self, pods: Iterable[Pod] | None) -> None:
        self._pods = pods
        self._seen: set[tuple[str, str, str]] | None = None  # namespace or "", key, value

    def lonely_terms(self, pod: Pod) -> frozenset[int]:
        """The affinity terms, by position, that certainly no pod satisfies, this one included.

        Only labels asked for by value are looked at, each for itself: what is not certain is left
        out.
        """
        if not pod.spec.affinity or self._pods is None:
            return _NONE
        return frozenset(
            position
            for position, term in enumerate(pod.spec.affinity)
            if self._is_lonely(pod, term)
        )

    def _is_lonely(self, pod: Pod, term: PodTerm) -> bool:
        selector = narrowed(
            term.selector,
            pod.labels,
            match=term.match_label_keys,
            mismatch=term.mismatch_label_keys,
        )
        if selector.nothing:
            return True
        anywhere = term.namespace_selector is not None
        namespaces = ("",) if anywhere else term.namespaces or (pod.namespace,)
        if selector.matches(pod.labels) and (anywhere or pod.namespace in namespaces):
            return False  # the first of its kind may stand alone
        return any(not self._has(one, namespaces) for one in selector.expressions)

    def _has(self, asked: Requirement, namespaces: tuple[str, ...]) -> bool:
        if asked.complement or not asked.values:
            return True
        seen = self._labels()
        return any(
            (namespace, asked.key, value) in seen
            for namespace in namespaces
            for value in asked.values
        )

    def _labels(self) -> set[tuple[str, str, str]]:
        if self._seen is None:
            self._seen = set()
            for pod in self._pods or ():
                for key, value in pod.labels.items():
                    self._seen.add((pod.namespace, key, value))
                    self._seen.add(("", key, value))
        return self._seen
