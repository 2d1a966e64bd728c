"""Defines what a team requests: the fields of a request file, each with what it must be."""

from __future__ import annotations

from typing import Annotated, Final

from dovetail.api.facts import A_LABEL_VALUE, A_QUALIFIED_NAME, LabelValue, about
from dovetail.api.meta import NOT_GIVEN_MAP, Wire

Amount = int | str | float
DEFAULT_PROVIDER: Final = "aws"
ARCHITECTURES: Final = ("amd64", "arm64")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
SPOT: Final = ("never", "allowed", "only")
_NAME: Final = "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
_A_NAME: Final = 'lower-case letters, digits, "-" and "."'


class PerNodeRange(Wire, frozen=True):
    """The least and the most of a resource on one node."""

    min: Annotated[Amount | None, about("The least that a node has.")] = None
    max: Annotated[Amount | None, about("The most that a node has.")] = None


class RequestedTaint(Wire, frozen=True):
    """A taint of all nodes of the pool."""

    key: Annotated[str, about(f"The key of the taint: {A_QUALIFIED_NAME}.", is_required=True)] = ""
    value: Annotated[str, about(f"The value of the taint: {A_LABEL_VALUE}.")] = ""
    effect: Annotated[
        str,
        about("What it does to pods that do not tolerate it.", enum=EFFECTS, is_required=True),
    ] = ""


class NodeClassRequest(Wire, frozen=True):
    """The node class of the pool: the name of an existing one, or the settings of a new one."""

    name: Annotated[
        str,
        about(
            "The name of the node class. With no other field it is an existing one; a new one is "
            "named after the pool by default.",
            pattern=_NAME,
            max_length=253,
            expected=_A_NAME,
        ),
    ] = ""
    role: Annotated[str, about("New node class on AWS: the IAM role of the nodes.")] = ""
    cluster: Annotated[
        str,
        about(
            "New node class on AWS: the value of the tag karpenter.sh/discovery of the subnets "
            "and security groups, usually the name of the cluster."
        ),
    ] = ""
    image: Annotated[
        str,
        about(
            "New node class on AWS: the image, as family@version such as al2023@v20260101. "
            "Default: al2023@latest."
        ),
    ] = ""
    disk: Annotated[
        str, about("New node class on AWS: the size of the root volume, such as 100Gi.")
    ] = ""


class NodePoolRequest(Wire, frozen=True):
    """A request for a NodePool."""

    name: Annotated[
        str,
        about(
            "The name of the NodePool.",
            pattern=_NAME,
            max_length=63,
            expected=_A_NAME,
            is_required=True,
        ),
    ] = ""
    provider: Annotated[
        str,
        about("The provider that launches the nodes.", min_length=1, default=DEFAULT_PROVIDER),
    ] = DEFAULT_PROVIDER
    cpu: Annotated[Amount | None, about("The most vCPU of all nodes together.")] = None
    memory: Annotated[
        Amount | None, about("The most memory of all nodes together, such as 256Gi.")
    ] = None
    gpus: Annotated[
        int | None,
        about("The most GPUs of all nodes together. Nodes of the pool then have GPUs.", minimum=1),
    ] = None
    families: Annotated[
        tuple[str, ...],
        about("The instance families, such as m7g. Absent: the provider's usual ones."),
    ] = ()
    architectures: Annotated[
        tuple[Annotated[str, about("An architecture.", enum=ARCHITECTURES)], ...],
        about("The CPU architectures. Absent: those of the families, or amd64."),
    ] = ()
    cpu_per_node: Annotated[
        PerNodeRange, about("The least and the most vCPU of one node, whole numbers.")
    ] = PerNodeRange()
    memory_per_node: Annotated[
        PerNodeRange, about("The least and the most memory of one node, such as 8Gi.")
    ] = PerNodeRange()
    spot: Annotated[
        str,
        about(
            "Spot instances: never; allowed, with on-demand instances where spot is unavailable "
            "or more expensive; or only.",
            enum=SPOT,
            default="never",
        ),
    ] = "never"
    zones: Annotated[
        tuple[str, ...], about("The zones, such as us-west-2a. Absent: those of the cluster.")
    ] = ()
    labels: Annotated[
        dict[str, LabelValue], about("Labels of all nodes, such as team: payments.")
    ] = NOT_GIVEN_MAP
    taints: Annotated[
        tuple[RequestedTaint, ...],
        about("Taints of all nodes. Only pods that tolerate them are placed on the pool."),
    ] = ()
    quiet_hours: Annotated[
        tuple[str, ...],
        about(
            "Hours in UTC in which no node is consolidated or replaced after drift, such as "
            "mon-fri 08:00-18:00. Empty nodes are still removed."
        ),
    ] = ()
    weight: Annotated[
        int | None,
        about("Pools of higher weight are used first.", minimum=1, maximum=100),
    ] = None
    node_class: Annotated[NodeClassRequest, about("The node class of the pool.")] = (
        NodeClassRequest()
    )
