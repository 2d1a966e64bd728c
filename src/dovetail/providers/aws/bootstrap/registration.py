"""Computes the labels and taints with which a kubelet registers its node."""

from __future__ import annotations

import re
from typing import Final

from dovetail import labels
from dovetail.api.facts import (
    A_LABEL_VALUE,
    A_QUALIFIED_NAME,
    LABEL_VALUE,
    QUALIFIED_NAME,
)
from dovetail.model.taints import Effect, Taint
from dovetail.providers.aws.bootstrap.inputs import BootstrapInputs, UserDataError

UNREGISTERED: Final = Taint(labels.UNREGISTERED_TAINT, "", Effect.NO_EXECUTE)

# A kubelet sets a few labels of these domains by itself, and does not start if it is given others.
# Registration puts all labels of the claim on the node, so that none is lost.
_RESERVED: Final = ("kubernetes.io", "k8s.io")
_EFFECTS: Final = frozenset(Effect)
_NAME: Final = re.compile(QUALIFIED_NAME)
_VALUE: Final = re.compile(LABEL_VALUE)


def is_for_kubelet(key: str) -> bool:
    """Whether a kubelet is given this label: not those of Kubernetes' own domains."""
    domain = labels.domain(key)
    return not any(domain == own or domain.endswith("." + own) for own in _RESERVED)


def node_labels(inputs: BootstrapInputs) -> dict[str, str]:
    """The labels of the new node, sorted. Raises UserDataError for what is not a label."""
    wanted = {**inputs.labels, labels.DO_NOT_SYNC_TAINTS: "true"}
    if inputs.capacity_type:
        wanted[labels.CAPACITY_TYPE] = inputs.capacity_type
    given = {key: wanted[key] for key in sorted(wanted) if is_for_kubelet(key)}
    for key, value in given.items():
        _check(f"label {key!r}", key, value)
    return given


def node_taints(inputs: BootstrapInputs) -> tuple[Taint, ...]:
    """The taints of the new node, sorted: the claim's, its startup taints, and `unregistered`.

    The API server refuses a node that has a key with the same effect twice; the first one counts.
    """
    by_identity: dict[tuple[str, str], Taint] = {}
    for taint in (*inputs.taints, *inputs.startup_taints, UNREGISTERED):
        by_identity.setdefault((taint.key, str(taint.effect)), taint)
    taints = tuple(by_identity[identity] for identity in sorted(by_identity))
    for taint in taints:
        _check(f"taint {taint.key!r}", taint.key, taint.value)
        if taint.effect not in _EFFECTS:
            msg = f"effect {taint.effect!r}; expected one of {', '.join(sorted(_EFFECTS))}"
            raise UserDataError(msg, field=f"taint {taint.key!r}")
    return taints


def _check(field: str, key: str, value: str) -> None:
    """Refuse what a kubelet would read as something else: separators, quotes, line ends."""
    if not _NAME.fullmatch(key):
        msg = f"key {key!r}; expected {A_QUALIFIED_NAME}"
        raise UserDataError(msg, field=field)
    if not _VALUE.fullmatch(value):
        msg = f"value {value!r}; expected {A_LABEL_VALUE}"
        raise UserDataError(msg, field=field)
