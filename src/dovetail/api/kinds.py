"""Which kinds are understood, under which names, and as which wire types?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from dovetail.api.apps import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodDisruptionBudget,
    ReplicaSet,
    StatefulSet,
)
from dovetail.api.autoscaling import CapacityBuffer
from dovetail.api.core import (
    LimitRange,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodTemplate,
    ReplicationController,
    Service,
)
from dovetail.api.decoding import FieldProblem, Tree, decode
from dovetail.api.karpenter import NodeClaim, NodePool
from dovetail.api.meta import Object
from dovetail.api.node import PriorityClass, RuntimeClass
from dovetail.api.overlay import NodeOverlay
from dovetail.api.storage import CSINode, StorageClass, VolumeAttachment


class Kind(msgspec.Struct, frozen=True):
    """A kind of object: what the API calls it, and the type it is read as. `problems` finds what
    the facts beside the fields of the type cannot say.
    """

    group: str
    version: str
    name: str
    plural: str
    wire_type: type[Object]
    is_namespaced: bool = True
    problems: Callable[[Object], Iterable[FieldProblem]] | None = None

    @property
    def api_version(self) -> str:
        """As manifests write it."""
        return f"{self.group}/{self.version}" if self.group else self.version


_ALL: Final = (
    Kind("", "v1", "Pod", "pods", Pod),
    Kind("", "v1", "Node", "nodes", Node, False),
    Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", PersistentVolumeClaim),
    Kind("", "v1", "PersistentVolume", "persistentvolumes", PersistentVolume, False),
    Kind("", "v1", "Namespace", "namespaces", Namespace, False),
    Kind("", "v1", "Service", "services", Service),
    Kind("", "v1", "LimitRange", "limitranges", LimitRange),
    Kind("", "v1", "PodTemplate", "podtemplates", PodTemplate),
    Kind("", "v1", "ReplicationController", "replicationcontrollers", ReplicationController),
    Kind("apps", "v1", "Deployment", "deployments", Deployment),
    Kind("apps", "v1", "ReplicaSet", "replicasets", ReplicaSet),
    Kind("apps", "v1", "StatefulSet", "statefulsets", StatefulSet),
    Kind("apps", "v1", "DaemonSet", "daemonsets", DaemonSet),
    Kind("batch", "v1", "Job", "jobs", Job),
    Kind("batch", "v1", "CronJob", "cronjobs", CronJob),
    Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", StorageClass, False),
    Kind("storage.k8s.io", "v1", "CSINode", "csinodes", CSINode, False),
    Kind(
        "storage.k8s.io",
        "v1",
        "VolumeAttachment",
        "volumeattachments",
        VolumeAttachment,
        False,
    ),
    Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", PodDisruptionBudget),
    Kind(
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
        PriorityClass,
        False,
    ),
    Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", RuntimeClass, False),
    Kind("karpenter.sh", "v1", "NodePool", "nodepools", NodePool, False),
    Kind("karpenter.sh", "v1", "NodeClaim", "nodeclaims", NodeClaim, False),
    Kind("karpenter.sh", "v1alpha1", "NodeOverlay", "nodeoverlays", NodeOverlay, False),
    Kind(
        "autoscaling.x-k8s.io",
        "v1beta1",
        "CapacityBuffer",
        "capacitybuffers",
        CapacityBuffer,
    ),
)

# What every cluster has that runs Dovetail; providers bring their node classes.
KINDS: Final = {(kind.group, kind.name): kind for kind in _ALL}


def find(api_version: str, name: str, kinds: Mapping[tuple[str, str], Kind] = KINDS) -> Kind | None:
    """The kind of an object by its apiVersion and kind, whichever version it names."""
    group, slash, _ = api_version.partition("/")
    return kinds.get((group if slash else "", name))


def read(kind: Kind, data: bytes | msgspec.Raw | Tree) -> Object:
    """An object of this kind. Raises DecodeError with the field and what was expected."""
    return decode(kind.wire_type, data)
