"""What does karpenter.sh store? NodePools and NodeClaims."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

import msgspec

from dovetail.api.core import Taint
from dovetail.api.facts import (
    A_DURATION,
    A_QUALIFIED_NAME,
    BOUND_IS_ONE_NUMBER,
    DURATION,
    DURATION_OR_NEVER,
    GROUP_STAYS,
    IN_HAS_MIN_VALUES,
    IN_HAS_VALUES,
    KIND_STAYS,
    NO_HOSTNAME_LABEL,
    NO_NODE_POOL_LABEL,
    NO_RESTRICTED_LABELS,
    NOT_HOSTNAME,
    NOT_NODE_POOL,
    QUALIFIED_NAME,
    RESTRICTED_KEY,
    SCHEDULE_READABLE,
    SCHEDULE_WITH_DURATION,
    SPEC_STAYS,
    STATIC_HAS_NO_WEIGHT,
    STATIC_LIMITS_NODES_ONLY,
    STATIC_STAYS,
    Facts,
    LabelValue,
    Rule,
    about,
)
from dovetail.api.meta import (
    NO_RESOURCES,
    NOT_GIVEN_LIST,
    NOT_GIVEN_MAP,
    Condition,
    Object,
    ResourceList,
    Wire,
)
from dovetail.units import cron

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")


def _label_facts(*rules: Rule) -> Facts:
    return about(
        "The label that is constrained.",
        pattern=QUALIFIED_NAME,
        max_length=316,
        expected=A_QUALIFIED_NAME,
        rules=rules,
    )


class Requirement(Wire, frozen=True):
    """A constraint on one label of the nodes."""

    rules: ClassVar[tuple[Rule, ...]] = (IN_HAS_VALUES, BOUND_IS_ONE_NUMBER, IN_HAS_MIN_VALUES)
    key: Annotated[str, _label_facts(RESTRICTED_KEY, NOT_NODE_POOL, NOT_HOSTNAME)]
    operator: Annotated[
        str, about("How the label's value is compared with `values`.", enum=OPERATORS)
    ]
    values: Annotated[
        tuple[LabelValue, ...],
        about(
            "The values to compare with: at least one for In, exactly one whole number for Gt, "
            "Lt, Gte and Lte, none for Exists and DoesNotExist."
        ),
    ] = ()
    min_values: Annotated[
        int | None,
        about(
            "How many different values of this label the launchable instance types must offer.",
            minimum=1,
            maximum=50,
        ),
    ] = None


class ClaimRequirement(Requirement, frozen=True):
    """As in a pool, but a claim may name its pool."""

    key: Annotated[str, _label_facts(RESTRICTED_KEY, NOT_HOSTNAME)]


class NodeClassReference(Wire, frozen=True):
    """The provider's own settings that nodes are launched with."""

    group: Annotated[
        str,
        about(
            "API group of the node class, without a version.",
            pattern="^[^/]*$",
            min_length=1,
            expected='a group without a version, such as "karpenter.kwok.sh"',
        ),
    ]
    kind: Annotated[str, about("Kind of the node class.", min_length=1)]
    name: Annotated[str, about("Name of the node class.", min_length=1)]


_TAINTS = about("Taints that the nodes carry for good.")
_STARTUP_TAINTS = about(
    "Taints that the nodes start with and that something else takes off when they are ready. "
    "Pods need not tolerate them to count on such a node."
)
_GRACE = about(
    "How long a node may take to drain before its pods are deleted, whatever protects them. "
    "Absent means as long as it takes.",
    pattern=DURATION,
    expected=A_DURATION,
)
_EXPIRE = about(
    'How long a node may live before it is replaced; "Never" means for ever.',
    pattern=DURATION_OR_NEVER,
    expected=f'{A_DURATION}, or "Never"',
    default="720h",
)


class NodeClaimTemplateSpec(Wire, frozen=True):
    """What nodes of a pool are like."""

    node_class_ref: Annotated[
        NodeClassReference,
        about(
            "The node class that nodes of this pool are launched with.",
            rules=(GROUP_STAYS, KIND_STAYS),
        ),
    ]
    requirements: Annotated[
        tuple[Requirement, ...],
        about("Constraints on the labels of the nodes; all must hold.", max_items=100),
    ]
    taints: Annotated[tuple[Taint, ...], _TAINTS] = NOT_GIVEN_LIST
    startup_taints: Annotated[tuple[Taint, ...], _STARTUP_TAINTS] = NOT_GIVEN_LIST
    termination_grace_period: Annotated[str | None, _GRACE] = None
    expire_after: Annotated[str, _EXPIRE] = "720h"


class TemplateMeta(Wire, frozen=True):
    """What the nodes of a pool are labelled with."""

    labels: Annotated[
        dict[str, LabelValue],
        about(
            "Labels that every node of this pool gets.",
            max_properties=100,
            rules=(NO_RESTRICTED_LABELS, NO_NODE_POOL_LABEL, NO_HOSTNAME_LABEL),
        ),
    ] = NOT_GIVEN_MAP
    annotations: Annotated[
        dict[str, str], about("Annotations that every node of this pool gets.")
    ] = NOT_GIVEN_MAP


class NodeClaimTemplate(Wire, frozen=True):
    """What a pool makes its nodes from."""

    spec: Annotated[NodeClaimTemplateSpec, about("What the nodes are like.")]
    metadata: Annotated[TemplateMeta, about("Labels and annotations of the nodes.")] = (
        TemplateMeta()
    )


class Budget(Wire, frozen=True):
    """How many nodes may be disrupted at once, for what reasons and when."""

    rules: ClassVar[tuple[Rule, ...]] = (SCHEDULE_WITH_DURATION,)
    nodes: Annotated[
        str,
        about(
            "How many nodes may be disrupted at once: a number, or a share of the pool's nodes "
            "that is rounded up.",
            pattern="^((100|[0-9]{1,2})%|[0-9]+)$",
            expected='a number such as "5", or a percentage from "0%" to "100%"',
            default="10%",
            is_required=True,
        ),
    ] = "10%"
    reasons: Annotated[
        tuple[Annotated[str, Facts(enum=("Underutilized", "Empty", "Drifted"))], ...] | None,
        about(
            "The reasons that this budget limits; absent means all of them.",
            max_items=50,
            is_set=True,
        ),
    ] = None
    schedule: Annotated[
        str | None,
        about(
            "When the budget begins to apply, in cron's five fields or as a macro such as "
            "@daily, in UTC. Absent means always.",
            pattern=(
                r"^\s*(@(annually|yearly|monthly|weekly|daily|midnight|hourly)"
                r"|\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s*$"
            ),
            expected='five cron fields such as "0 9 * * mon-fri", or a macro such as "@daily"',
            max_length=cron.LONGEST,  # bounds what the rule may cost
            rules=(SCHEDULE_READABLE,),
        ),
    ] = None
    duration: Annotated[
        str | None,
        about(
            "How long the budget applies from each time that the schedule strikes.",
            pattern="^(([0-9]+(h|m)|[0-9]+h[0-9]+m)(0s)?)$",
            expected='hours and minutes such as "8h" or "1h30m"',
        ),
    ] = None


class Disruption(Wire, frozen=True):
    """When nodes may be taken away."""

    consolidate_after: Annotated[
        str,
        about(
            "How long a node must have seen no pod come or go before it may be consolidated; "
            '"Never" keeps it.',
            pattern=DURATION_OR_NEVER,
            expected=f'{A_DURATION}, or "Never"',
            default="0s",
            is_required=True,
        ),
    ] = "0s"
    consolidation_policy: Annotated[
        str,
        about(
            "Which nodes may be consolidated: empty ones only, all that could be had cheaper, or "
            "those whose saving is worth the disruption.",
            enum=("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"),
            default="WhenEmptyOrUnderutilized",
        ),
    ] = "WhenEmptyOrUnderutilized"
    budgets: Annotated[
        tuple[Budget, ...],
        about(
            "Limits on how many nodes may be disrupted at once; the tightest that applies counts.",
            max_items=50,
            default=[{"nodes": "10%"}],
        ),
    ] = (Budget(),)


class NodePoolSpec(Wire, frozen=True):
    """What may be launched, how much of it, and when it may go."""

    rules: ClassVar[tuple[Rule, ...]] = (
        STATIC_STAYS,
        STATIC_LIMITS_NODES_ONLY,
        STATIC_HAS_NO_WEIGHT,
    )
    template: Annotated[NodeClaimTemplate, about("What nodes of this pool are made from.")]
    disruption: Annotated[
        Disruption,
        about("When nodes of this pool may be taken away.", default={"consolidateAfter": "0s"}),
    ] = Disruption()
    limits: Annotated[
        ResourceList,
        about('The most that all nodes of this pool may have together; "nodes" counts the nodes.'),
    ] = NO_RESOURCES
    weight: Annotated[
        int | None,
        about(
            "Pools of higher weight are used first. Absent counts as 0.",
            minimum=1,
            maximum=100,
            format="int32",
        ),
    ] = None
    replicas: Annotated[
        int | None, about("Keep exactly this many nodes, whatever pods ask for.", minimum=0)
    ] = None


class NodePoolStatus(Wire, frozen=True):
    """What the pool has."""

    resources: Annotated[ResourceList, about("What all nodes of this pool have together.")] = (
        NO_RESOURCES
    )
    nodes: Annotated[int, about("How many nodes this pool has.", default=0)] = 0
    node_class_observed_generation: Annotated[
        int, about("The generation of the node class that was last seen.")
    ] = 0
    conditions: Annotated[
        tuple[Condition, ...], about("Whether the pool can be used, and if not, why.")
    ] = ()


class NodePool(Object, frozen=True):
    """What may be launched."""

    spec: Annotated[NodePoolSpec, about("What is wanted of this pool.")]
    status: Annotated[NodePoolStatus, about("What this pool has.")] = NodePoolStatus()


class ClaimResources(Wire, frozen=True):
    """What a node must have room for."""

    requests: Annotated[ResourceList, about("The least that the node must have.")] = NO_RESOURCES


class NodeClaimSpec(Wire, frozen=True):
    """A node that is wanted."""

    rules: ClassVar[tuple[Rule, ...]] = (SPEC_STAYS,)
    node_class_ref: Annotated[
        NodeClassReference, about("The node class that this node is launched with.")
    ]
    requirements: Annotated[
        tuple[ClaimRequirement, ...],
        about("Constraints on the labels of the node; all must hold.", max_items=100),
    ]
    taints: Annotated[tuple[Taint, ...], _TAINTS] = ()
    startup_taints: Annotated[tuple[Taint, ...], _STARTUP_TAINTS] = ()
    resources: Annotated[ClaimResources, about("What the node must have room for.")] = (
        ClaimResources()
    )
    termination_grace_period: Annotated[str | None, _GRACE] = None
    expire_after: Annotated[str, _EXPIRE] = "720h"


class NodeClaimStatus(Wire, frozen=True):
    """The node that came of it."""

    node_name: Annotated[str, about("Name of the node.")] = ""
    provider_id: Annotated[str, about("What the provider calls the instance.")] = msgspec.field(
        default="", name="providerID"
    )
    image_id: Annotated[str, about("What the instance was started from.")] = msgspec.field(
        default="", name="imageID"
    )
    capacity: Annotated[ResourceList, about("Everything that the node is expected to have.")] = (
        NO_RESOURCES
    )
    allocatable: Annotated[ResourceList, about("What of it pods are expected to get.")] = (
        NO_RESOURCES
    )
    conditions: Annotated[tuple[Condition, ...], about("How far the node has come.")] = ()
    last_pod_event_time: Annotated[
        datetime | None, about("When a pod last came to the node or left it.")
    ] = None


class NodeClaim(Object, frozen=True):
    """A node that is wanted, from its order to its end."""

    spec: Annotated[NodeClaimSpec, about("The node that is wanted.")]
    status: Annotated[NodeClaimStatus, about("The node that came of it.")] = NodeClaimStatus()
