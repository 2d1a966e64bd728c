"""api — what Kubernetes stores, field for field, and the rules our own kinds obey.

Rule 1: only fields that scheduling, disruption or lifecycle read are here; the rest is passed over.
Rule 2: text stays text (quantities, durations); `state` turns it into numbers, once.
Rule 3: outside this package a wire type wears its module: `api.Pod`, never a bare `Pod`.
"""

from __future__ import annotations

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
    PodSpec,
    PodTemplate,
    PodTemplateSpec,
    ReplicationController,
    Service,
    Taint,
    VolumeClaimTemplate,
)
from dovetail.api.decoding import DecodeError, FieldProblem, Tree, decode, decode_at, encode
from dovetail.api.extension import (
    Column,
    Definition,
    Extension,
    NodeClass,
    NodeClassStatus,
    all_kinds,
    find_extended,
)
from dovetail.api.karpenter import NodeClaim, NodePool
from dovetail.api.kinds import KINDS, Kind, find, read
from dovetail.api.meta import (
    Condition,
    Envelope,
    LabelSelector,
    LabelSelectorRequirement,
    Object,
    ObjectMeta,
    OwnerReference,
    ResourceList,
)
from dovetail.api.node import PriorityClass, RuntimeClass
from dovetail.api.overlay import NodeOverlay
from dovetail.api.parts import (
    Affinity,
    Container,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinityTerm,
    PodParts,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
)
from dovetail.api.podrules import pod_problems
from dovetail.api.storage import CSINode, StorageClass, VolumeAttachment
from dovetail.api.validation import problems
