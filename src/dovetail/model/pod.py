"""Defines pods: the scheduling constraints, which many pods share, and what makes it this one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail import labels as well_known
from dovetail.model.taints import Toleration
from dovetail.model.topology import HostPort, NodeTerm, PodTerm, Spread
from dovetail.model.verdict import Problem

PodKey = str  # "namespace/name"


class PodSpec(msgspec.Struct, frozen=True, gc=False):
    """What a pod's template fixes. Pods of one template share one object, so that grouping them
    costs an identity comparison (see `solve/encoding/groups.py`); equal content in two objects is
    also fine.

    `requests` is what kube-scheduler counts: init containers, sidecars, pod-level resources and
    overhead worked in, and `pods: 1`.
    """

    requests: Mapping[str, int]
    node_selector: Mapping[str, str] = {}
    required_terms: tuple[NodeTerm, ...] = ()  # alternatives; empty means no constraint
    preferred_terms: tuple[tuple[int, NodeTerm], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[Spread, ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred_affinity: tuple[tuple[int, PodTerm], ...] = ()
    preferred_anti_affinity: tuple[tuple[int, PodTerm], ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    priority: int = 0
    priority_class: str = ""
    scheduler_name: str = "default-scheduler"
    is_gated: bool = False
    uses_dynamic_resources: bool = False
    termination_grace_seconds: int = 30


class Owner(msgspec.Struct, frozen=True, gc=False):
    """The controller of a pod."""

    kind: str
    name: str
    uid: str = ""
    api_version: str = "apps/v1"


class Pod(msgspec.Struct, frozen=True, gc=False):
    """A pod, bound or waiting. Only what decisions read."""

    name: str
    namespace: str
    spec: PodSpec
    uid: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    claim_names: tuple[str, ...] = ()  # its PersistentVolumeClaims, ephemeral ones included
    node_name: str = ""
    nominated_node_name: str = ""
    phase: str = "Pending"
    owner: Owner | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    deleting_at: datetime | None = None
    ends_at: datetime | None = None  # when it must have ended, or when it did
    is_ready: bool = True
    problems: tuple[Problem, ...] = ()  # what the border found wrong with it

    @property
    def key(self) -> PodKey:
        """How plans name it."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_terminal(self) -> bool:
        """Whether it has run to its end."""
        return self.phase in TERMINAL_PHASES

    @property
    def is_daemon(self) -> bool:
        """Whether a DaemonSet owns it."""
        return self.owner is not None and self.owner.kind == "DaemonSet"

    @property
    def is_mirror(self) -> bool:
        """Whether its node owns it (a static pod)."""
        return self.owner is not None and self.owner.kind == "Node"

    @property
    def is_virtual(self) -> bool:
        """Whether it only stands for room that a capacity buffer keeps."""
        return bool(self.annotations) and well_known.BUFFER_FAKE_POD in self.annotations

    @property
    def workload(self) -> str:
        """Whose pod it is, as "kind/namespace/name"; empty for a pod that nobody makes again. A
        ReplicaSet that a Deployment has made is that Deployment's.
        """
        owner = self.owner
        if owner is None:
            return ""
        hashed = self.labels.get(well_known.POD_TEMPLATE_HASH)
        if owner.kind == "ReplicaSet" and hashed and owner.name.endswith(f"-{hashed}"):
            return f"Deployment/{self.namespace}/{owner.name[: -len(hashed) - 1]}"
        return f"{owner.kind}/{self.namespace}/{owner.name}"


TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})


class DaemonSet(msgspec.Struct, frozen=True, gc=False):
    """A pod that every node it tolerates will run, with the labels its pods carry."""

    name: str
    namespace: str
    spec: PodSpec
    labels: Mapping[str, str] = {}
    uid: str = ""
