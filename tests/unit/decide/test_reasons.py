from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.reasons import Context, explain_refused, explain_unplaced
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.node import Node
from dovetail.model.pod import DaemonSet, Pod, PodSpec
from dovetail.model.policy import MinValuesPolicy, Policy
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.model.requirements import Requirement, Requirements, requirement
from dovetail.model.taints import Taint, Toleration
from dovetail.model.topology import NOTHING, HostPort, NodeTerm, PodTerm, Spread, equality
from dovetail.model.verdict import Problem, Reason, Unschedulable
from dovetail.model.volumes import PodVolumes

GI = 2**30
GPU = "nvidia.com/gpu"


def isin(key: str, *values: str) -> Requirement:
    """The key has one of these values."""
    return requirement(key, "In", values)


def kind(
    name: str,
    cpu: int,
    *,
    zones: str = "ab",
    capacity_types: tuple[str, ...] = (labels.ON_DEMAND,),
    available: bool = True,
    **more: int,
) -> InstanceType:
    """A type of so many cores, four times the memory, on offer in every zone named by a letter."""
    capacity = {"cpu": cpu * 1000, "memory": 4 * cpu * GI, "pods": 110}
    capacity |= {name.replace("gpu", GPU): amount for name, amount in more.items()}
    offerings = tuple(
        Offering(
            zone,
            sort,
            cpu,
            Requirements([isin(labels.ZONE, zone), isin(labels.CAPACITY_TYPE, sort)]),
            is_available=available,
        )
        for zone in zones
        for sort in capacity_types
    )
    fixed = (
        isin(labels.INSTANCE_TYPE, name),
        isin(labels.ARCH, "amd64"),
        isin(labels.ZONE, *zones),
        isin(labels.CAPACITY_TYPE, *capacity_types),
    )
    return InstanceType(name, Requirements(fixed), capacity, capacity, offerings, {"csi": 3})


SMALL, LARGE = kind("small", 4), kind("large", 32)
BIG_GPU, TWO_GPU = kind("gpu8", 32, zones="a", gpu=8), kind("gpu2", 16, zones="b", gpu=2)
POOL = NodePool("default")


def ask(requests: Mapping[str, int] | None = None, **fields: object) -> Pod:
    """A pod that wants one core, or these requests, with some fields of its spec changed."""
    spec = PodSpec({"cpu": 1000, "pods": 1} if requests is None else requests)
    return Pod("web", "shop", msgspec.structs.replace(spec, **fields), labels={"app": "web"})


def world(*pools: NodePool, types: tuple[InstanceType, ...] = (SMALL, LARGE)) -> Context:
    """Pools that share these types."""
    shelves = {pool.name: types for pool in pools}
    return Context(pools=pools, instance_types=shelves)


def explained(pod: Pod, context: Context) -> Unschedulable:
    """The answer for one pod."""
    (answer,) = explain_unplaced((pod,), context)
    assert answer.pod == "shop/web"
    assert answer.summary.endswith(".")
    return answer


ODD = msgspec.structs.replace(
    SMALL, name="odd", allocatable={"cpu": 1000, "memory": 64 * GI, "pods": 9}
)
# On offer as spot in one zone and on demand in the other.
SPLIT = msgspec.structs.replace(
    kind("z", 4, capacity_types=("spot", "on-demand")),
    offerings=kind("z", 4, zones="b", capacity_types=("spot",)).offerings
    + kind("z", 4, zones="a").offerings,
)
TAINTED = NodePool("gpu", taints=(Taint("dedicated", "gpu"),))
LIMITED = NodePool("default", limits={"cpu": 100_000})
TEAMS = NodePool("default", requirements=(isin("team", "red", "blue"),))
OPEN_TEAMS = NodePool("default", requirements=(requirement("team", "Exists"),))
CHOOSY = NodePool(
    "default", requirements=(requirement(labels.INSTANCE_TYPE, "Exists", min_values=2),)
)
SPREAD = Spread(labels.ZONE, equality({"app": "web"}))
NEAR_DB = PodTerm(labels.ZONE, equality({"app": "db"}))
PORT = HostPort(8080)
AGENT = DaemonSet("agent", "kube-system", PodSpec({"cpu": 500}, host_ports=(PORT,)))


def term(*requirements: Requirement) -> NodeTerm:
    """One alternative of a node affinity."""
    return NodeTerm(requirements)


def limited(pool: NodePool, types: tuple[InstanceType, ...], **left: int) -> Context:
    """One pool of which the plan has left this much."""
    context = world(pool, types=types)
    return msgspec.structs.replace(context, remaining={pool.name: left})


def with_volumes(terms: tuple[NodeTerm, ...], n_volumes: int = 0) -> Context:
    """A world in which the pod has volumes."""
    attachments = (("csi", tuple(f"shop/{n}" for n in range(n_volumes))),) if n_volumes else ()
    volumes = PodVolumes((terms,) if terms else (), attachments)
    return msgspec.structs.replace(world(POOL), volumes={"shop/web": volumes})


@pytest.mark.parametrize(
    ("pod", "context", "want", "left", "said"),
    [
        pytest.param(
            ask(),
            world(TAINTED),
            Reason.TAINT_NOT_TOLERATED,
            2,
            "dedicated=gpu:NoSchedule",
            id="taint",
        ),
        pytest.param(
            ask(node_selector={labels.ZONE: "d"}),
            world(POOL),
            Reason.NODE_AFFINITY,
            2,
            "topology.kubernetes.io/zone In d (available: a, b)",
            id="no such zone",
        ),
        pytest.param(
            ask(node_selector={labels.INSTANCE_TYPE: "small", labels.ZONE: "d"}),
            world(POOL),
            Reason.NODE_AFFINITY,
            1,
            "zone In d",
            id="the hopeless label is the last one",
        ),
        pytest.param(
            ask(required_terms=(term(isin("team", "x")), term(isin("team", "y")))),
            world(TEAMS),
            Reason.NODE_AFFINITY,
            2,
            "nor the other 1 alternatives",
            id="every alternative fails",
        ),
        pytest.param(
            ask(required_terms=(term(isin("team", "red"), requirement("team", "NotIn", ["red"])),)),
            world(OPEN_TEAMS),
            Reason.NODE_AFFINITY,
            2,
            "team In red and team NotIn red",
            id="several wishes for one open label must agree",
        ),
        pytest.param(
            ask(required_terms=(NodeTerm(),)),
            world(POOL),
            Reason.NODE_AFFINITY,
            2,
            "no expression",
            id="an empty term selects nothing",
        ),
        pytest.param(
            ask(node_selector={labels.HOSTNAME: "n1"}),
            world(POOL),
            Reason.NODE_AFFINITY,
            2,
            "unknown before",
            id="a new node's name cannot be asked for",
        ),
        pytest.param(
            ask(required_terms=(term(requirement(labels.NODE_POOL, "DoesNotExist")),)),
            world(POOL),
            Reason.REFUSES_NODE_POOLS,
            2,
            "karpenter.sh/nodepool",
            id="pools refused",
        ),
        pytest.param(
            ask(),
            with_volumes((term(isin(labels.ZONE, "d")),)),
            Reason.VOLUME_TOPOLOGY,
            2,
            "zone In d",
            id="volumes elsewhere",
        ),
        pytest.param(
            ask(node_selector={labels.ZONE: "a"}),
            with_volumes((term(isin(labels.ZONE, "b")),)),
            Reason.VOLUME_TOPOLOGY,
            2,
            "zone In a and topology.kubernetes.io/zone In b",
            id="volumes in another zone than the pod",
        ),
        pytest.param(
            ask(),
            with_volumes((NodeTerm(),)),
            Reason.VOLUME_TOPOLOGY,
            2,
            "selects no node",
            id="volumes that can be nowhere",
        ),
        pytest.param(
            ask({"cpu": 64_000}),
            with_volumes((term(isin(labels.ZONE, "a")),)),
            Reason.RESOURCES,
            2,
            "requests cpu 64",
            id="volumes within reach, but too much cpu",
        ),
        pytest.param(
            ask({"cpu": 64_000}, node_selector={labels.ZONE: "a", labels.ARCH: "amd64"}),
            world(POOL),
            Reason.RESOURCES,
            2,
            "requests cpu 64",
            id="labels in order, but too much cpu",
        ),
        pytest.param(
            ask(node_selector={labels.ARCH: "arm64", labels.ZONE: "d"}),
            world(POOL),
            Reason.NODE_AFFINITY,
            2,
            "arch In arm64",
            id="two hopeless labels, the first by name",
        ),
        pytest.param(
            ask(),
            world(POOL, types=(kind("x", 4, available=False),)),
            Reason.NO_INSTANCE_TYPES,
            1,
            "is available",
            id="nothing available at all",
        ),
        pytest.param(
            ask(),
            world(NodePool("default", requirements=(isin(labels.ARCH, "arm64"),))),
            Reason.NO_INSTANCE_TYPES,
            2,
            "its requirements match none of 2 types",
            id="the pool excludes all types",
        ),
        pytest.param(
            ask(node_selector={labels.ZONE: "a", labels.CAPACITY_TYPE: "spot"}),
            world(
                POOL,
                types=(
                    kind("x", 4, zones="a"),
                    kind("y", 4, zones="b", capacity_types=("spot",)),
                    msgspec.structs.replace(
                        kind("z", 4, capacity_types=("spot", "on-demand")),
                        offerings=kind("z", 4, zones="b", capacity_types=("spot",)).offerings
                        + kind("z", 4, zones="a").offerings,
                    ),
                ),
            ),
            Reason.NO_OFFERING,
            1,
            "capacity-type In spot, topology.kubernetes.io/zone In a",
            id="zone and capacity type, but not together",
        ),
        pytest.param(
            ask({"cpu": 64_000}),
            world(POOL),
            Reason.RESOURCES,
            2,
            "requests cpu 64; the largest instance type leaves cpu 32",
            id="too much cpu",
        ),
        pytest.param(
            ask({"cpu": 32_000}),
            msgspec.structs.replace(world(POOL), daemon_sets=(AGENT,)),
            Reason.RESOURCES,
            2,
            "leaves cpu 31500m after DaemonSets",
            id="daemon sets come first",
        ),
        pytest.param(
            ask({"cpu": 3_000, "memory": 64 * GI}),
            world(
                POOL,
                types=(
                    SMALL,
                    msgspec.structs.replace(
                        SMALL, name="odd", allocatable={"cpu": 1000, "memory": 64 * GI, "pods": 9}
                    ),
                ),
            ),
            Reason.RESOURCES,
            2,
            "no instance type has all of it together",
            id="each for itself but not together",
        ),
        pytest.param(
            ask({"example.com/fpga": 1}),
            world(POOL),
            Reason.RESOURCES,
            2,
            "no instance type has example.com/fpga",
            id="an unknown resource",
        ),
        pytest.param(
            ask(),
            with_volumes((), 5),
            Reason.VOLUME_LIMITS,
            2,
            "5 volumes of csi; a node can attach at most 3",
            id="too many volumes",
        ),
        pytest.param(
            ask(host_ports=(PORT,)),
            msgspec.structs.replace(world(POOL), daemon_sets=(AGENT,)),
            Reason.HOST_PORTS,
            2,
            "8080/TCP is used by DaemonSet kube-system/agent",
            id="a port that every node's daemon has",
        ),
        pytest.param(
            ask({"cpu": 8000}),
            world(CHOOSY),
            Reason.MIN_VALUES,
            1,
            "1 values of node.kubernetes.io/instance-type; minValues is 2",
            id="too few types to choose from",
        ),
        pytest.param(
            ask(spread=(msgspec.structs.replace(SPREAD, topology_key="rack"),)),
            world(POOL),
            Reason.TOPOLOGY_SPREAD,
            2,
            "do not have the label rack",
            id="spread over a label that is nowhere",
        ),
        pytest.param(
            ask(affinity=(NEAR_DB,)),
            msgspec.structs.replace(world(POOL), pods=()),
            Reason.POD_AFFINITY,
            2,
            "selects pods that do not exist: app In db",
            id="near pods that do not run",
        ),
        pytest.param(
            ask(affinity=(msgspec.structs.replace(NEAR_DB, selector=NOTHING),)),
            msgspec.structs.replace(world(POOL), pods=()),
            Reason.POD_AFFINITY,
            2,
            "no labels at all",
            id="near nobody",
        ),
        pytest.param(
            ask({"cpu": 8000}),
            limited(LIMITED, (SMALL, LARGE), cpu=10_000),
            Reason.LIMITS,
            1,
            "limits leave cpu 10, and the smallest matching node needs cpu 32",
            id="limits",
        ),
        pytest.param(
            ask(),
            limited(NodePool("default", limits={"nodes": 3}), (SMALL,), nodes=0),
            Reason.LIMITS,
            1,
            "nodes 0",
            id="as many nodes as allowed",
        ),
        pytest.param(
            ask(),
            world(POOL, types=(kind("x", 4, capacity_types=(labels.RESERVED,)),)),
            Reason.RESERVATIONS,
            1,
            "reserved",
            id="only reservations would do",
        ),
        pytest.param(
            ask(spread=(SPREAD,)), world(POOL), Reason.TOPOLOGY_SPREAD, 2, "maxSkew 1", id="spread"
        ),
        pytest.param(
            ask(affinity=(NEAR_DB,)),
            world(POOL),
            Reason.POD_AFFINITY,
            2,
            "app In db",
            id="affinity",
        ),
        pytest.param(
            ask(anti_affinity=(NEAR_DB,)),
            world(POOL),
            Reason.POD_ANTI_AFFINITY,
            2,
            "pods with app In db",
            id="anti-affinity",
        ),
        pytest.param(
            ask(), world(POOL), Reason.POD_ANTI_AFFINITY, 2, "of other pods", id="other pods' rules"
        ),
    ],
)
def test_the_constraint_that_removed_the_last_types_is_named(
    pod: Pod, context: Context, want: Reason, left: int, said: str
) -> None:
    """With how many types were left before it."""
    (reason,) = explained(pod, context).reasons
    assert reason.reason == want
    assert said in reason.message
    assert reason.instance_types_left == left


@pytest.mark.parametrize(
    ("pod", "context", "want"),
    [
        pytest.param(ask(), world(TAINTED), "tolerate dedicated=gpu:NoSchedule", id="tolerate"),
        pytest.param(
            ask({"cpu": 8000}),
            limited(LIMITED, (SMALL, LARGE), cpu=0),
            "raise limits.cpu of NodePool default from 100 to 132",
            id="raise a limit by the smallest node that would do",
        ),
        pytest.param(
            ask(),
            limited(
                NodePool("default", limits={"cpu": 8000, "memory": 16 * GI}),
                (SMALL,),
                cpu=8000,
                memory=0,
            ),
            "raise limits.memory of NodePool default from 16Gi to 32Gi",
            id="only the limit that is short",
        ),
        pytest.param(
            ask(),
            limited(
                NodePool("default", limits={"cpu": 4000, "memory": 16 * GI, "nodes": 1}),
                (SMALL, LARGE),
                cpu=0,
                memory=0,
                nodes=0,
            ),
            "raise limits.cpu of NodePool default from 4 to 8 and limits.memory of NodePool "
            "default from 16Gi to 32Gi and limits.nodes of NodePool default from 1 to 2",
            id="every limit that is short",
        ),
        pytest.param(
            ask({GPU: 8}, node_selector={labels.ZONE: "b"}),
            world(POOL, types=(BIG_GPU, TWO_GPU)),
            "zone b has no offering that fits nvidia.com/gpu 8: allow others",
            id="another zone has what is asked for",
        ),
        pytest.param(
            ask({"cpu": 64_000}), world(POOL), "request at most cpu 32", id="a smaller pod"
        ),
        pytest.param(
            ask({"cpu": 64_000}, node_selector={labels.ZONE: "a"}),
            world(POOL),
            "request at most cpu 32",
            id="a smaller pod, where no other zone would help",
        ),
        pytest.param(
            ask({"cpu": 3_000, "memory": 64 * GI}),
            world(POOL, types=(SMALL, ODD)),
            "request less of cpu or memory or pods",
            id="less of something",
        ),
        pytest.param(
            ask({"cpu": 8000}, node_selector={"team": "red"}),
            world(
                NodePool(
                    "default",
                    requirements=(isin(labels.INSTANCE_TYPE, "small"), isin("team", "red")),
                )
            ),
            "let NodePool default use instance types with cpu 8, such as large",
            id="a type that the pool leaves out, for a pod with wishes that the pool grants",
        ),
        pytest.param(
            ask(node_selector={labels.ZONE: "a", labels.CAPACITY_TYPE: "spot"}),
            world(POOL, types=(SPLIT,)),
            "allow what is available: a on-demand, b spot",
            id="another combination is on offer",
        ),
        pytest.param(
            ask(),
            limited(
                NodePool("default", limits={"cpu": 9000, "memory": 40 * GI, "disk": 5}),
                (SMALL, LARGE),
                cpu=1000,
                memory=GI,
                disk=5,
            ),
            "raise limits.cpu of NodePool default from 9 to 12 and limits.memory of NodePool "
            "default from 40Gi to 55Gi",
            id="limits that are not short stay",
        ),
        pytest.param(
            ask(),
            with_volumes((), 5),
            "use fewer volumes of csi in one pod",
            id="fewer volumes",
        ),
        pytest.param(
            ask(host_ports=(PORT,)),
            msgspec.structs.replace(world(POOL), daemon_sets=(AGENT,)),
            "use another host port, or keep DaemonSet kube-system/agent off such nodes",
            id="another port",
        ),
        pytest.param(
            ask({"cpu": 8000}),
            world(NodePool("default", requirements=(isin(labels.INSTANCE_TYPE, "small"),))),
            "let NodePool default use instance types with cpu 8, such as large",
            id="a type that the pool leaves out",
        ),
        pytest.param(
            ask({"cpu": 500 * 10**9}),
            world(POOL),
            "request cpu in m (thousandths of a core), not in M (millions)",
            id="M for m",
        ),
        pytest.param(
            ask({"example.com/fpga": 1}),
            world(POOL),
            "add a NodePool whose instance types have example.com/fpga",
            id="a resource that no type has",
        ),
        pytest.param(
            ask(node_selector={"taem": "red"}),
            world(TEAMS),
            "use label team instead of taem",
            id="a misspelt label",
        ),
        pytest.param(
            ask(node_selector={"kubernetes.io/instance-type": "small"}),
            world(POOL),
            "use label node.kubernetes.io/instance-type instead of kubernetes.io/instance-type",
            id="a label under the wrong domain",
        ),
        pytest.param(
            ask(node_selector={"team": "Red"}),
            world(TEAMS),
            "use team red instead of Red",
            id="a misspelt value",
        ),
        pytest.param(
            ask(node_selector={"team": "green"}),
            world(TEAMS),
            "choose team among blue, red",
            id="a value that is not offered",
        ),
        pytest.param(
            ask(node_selector={labels.INSTANCE_TYPE: "large"}),
            world(NodePool("default", requirements=(isin(labels.INSTANCE_TYPE, "small"),))),
            "allow node.kubernetes.io/instance-type large in NodePool default",
            id="a value that the pool leaves out",
        ),
        pytest.param(
            ask(node_selector={"colour": "red"}),
            world(POOL),
            "label colour is on no node of NodePool default: add it to the pool's labels or "
            "requirements, or remove it from the pod",
            id="a label that is nowhere",
        ),
        pytest.param(
            ask(node_selector={labels.NODE_POOL: "batch"}),
            world(POOL),
            "let the pod use NodePool default",
            id="another pool was asked for",
        ),
        pytest.param(
            ask(node_selector={labels.HOSTNAME: "n1"}),
            world(POOL),
            "do not select a node by kubernetes.io/hostname",
            id="a node by name",
        ),
        pytest.param(
            ask({"cpu": 8000}),
            world(CHOOSY),
            "lower minValues of node.kubernetes.io/instance-type in NodePool default from 2 to 1",
            id="minValues",
        ),
        pytest.param(
            ask(
                spread=(msgspec.structs.replace(SPREAD, topology_key="topology.kubernetes.io/zon"),)
            ),
            world(POOL),
            "spread over topology.kubernetes.io/zone instead of topology.kubernetes.io/zon",
            id="a misspelt topology key",
        ),
        pytest.param(
            ask(spread=(msgspec.structs.replace(SPREAD, topology_key="rack"),)),
            world(POOL),
            "give NodePool default the label rack",
            id="a topology key that is nowhere",
        ),
        pytest.param(
            ask(spread=(SPREAD,)),
            world(POOL),
            "raise maxSkew over topology.kubernetes.io/zone, or set whenUnsatisfiable: "
            "ScheduleAnyway",
            id="a spread that cannot be kept",
        ),
        pytest.param(
            ask(),
            with_volumes((term(isin(labels.ZONE, "d")),)),
            "let NodePool default launch where the volumes are (topology.kubernetes.io/zone In d)",
            id="volumes elsewhere",
        ),
        pytest.param(
            ask(node_selector={"team": "red"}),
            limited(NodePool("p", taints=(Taint("x"),), limits={"cpu": 4000}), (SMALL,), cpu=0),
            "tolerate x:NoSchedule, and label team is on no node of NodePool p: add it to the "
            "pool's labels or requirements, or remove it from the pod, and raise limits.cpu of "
            "NodePool p from 4 to 8",
            id="three changes where one is not enough",
        ),
        pytest.param(
            ask(required_terms=(NodeTerm(),)), world(POOL), "", id="nothing of ours would help"
        ),
        pytest.param(
            ask(),
            world(NodePool("default", requirements=(isin(labels.ARCH, "arm64"),))),
            "widen the requirements of NodePool default",
            id="a pool without types",
        ),
    ],
)
def test_the_smallest_change_that_would_help_is_given(
    pod: Pod, context: Context, want: str
) -> None:
    """The change is tried in thought: what is offered is enough."""
    assert explained(pod, context).fix == want


def test_the_easiest_single_change_wins_over_pools() -> None:
    """A GPU pod is told to tolerate the GPU pool, not to ask the plain pool for less."""
    context = Context(
        pools=(POOL, TAINTED),
        instance_types={"default": (SMALL,), "gpu": (BIG_GPU,)},
    )
    answer = explained(ask({GPU: 8}), context)
    assert answer.fix == "tolerate dedicated=gpu:NoSchedule"
    assert answer.summary == (
        "None of 2 NodePools can launch a node for it: not enough resources (default); "
        "taint not tolerated (gpu)."
    )


def test_a_single_change_anywhere_beats_two_changes_first() -> None:
    """Fewer changes come before heavier pools."""
    both = msgspec.structs.replace(
        TAINTED, name="both", requirements=(isin(labels.ARCH, "arm64"),), weight=9
    )
    arm = (requirement(labels.ARCH, "In", ["amd64", "arm64"]),)
    types = (msgspec.structs.replace(SMALL, requirements=Requirements(arm)),)
    context = Context(pools=(both, POOL), instance_types={"both": types, "default": (SMALL,)})
    assert explained(ask({"cpu": 5000}), context).fix == "request at most cpu 4"


def test_a_refused_pool_is_listed_and_mended_last() -> None:
    """Its own problem is the reason, and its fix the answer if nothing else helps."""
    problem = Problem(Reason.NODE_POOL_NOT_READY, "The NodePool cannot be used: so.", "mend it")
    context = Context(refused_pools=((POOL, problem),), instance_types={"default": (SMALL, LARGE)})
    answer = explained(ask(), context)
    assert answer.fix == "mend it"
    assert answer.summary == (
        "NodePool default cannot launch a node for it: the NodePool cannot be used: so."
    )
    assert [(one.reason, one.instance_types_left) for one in answer.reasons] == [
        (Reason.NODE_POOL_NOT_READY, 2)
    ]
    assert explained(ask({"cpu": 64_000}), context).fix == "mend it, and request at most cpu 32"


def test_a_refused_pool_that_could_not_help_either_offers_no_fix() -> None:
    """Without types, or without a fix of its own, it is passed over."""
    bare = Problem(Reason.NODE_POOL_NOT_READY, "The NodePool cannot be used: so.")
    mendable = msgspec.structs.replace(bare, fix="mend it")
    context = Context(
        refused_pools=((NodePool("a"), mendable), (NodePool("b"), bare), (NodePool("c"), mendable)),
        instance_types={"b": (SMALL,), "c": (SMALL,)},
    )
    assert explained(ask(required_terms=(NodeTerm(),)), context).fix == ""


def test_a_port_is_free_where_its_daemon_does_not_run() -> None:
    """The types that the daemon set leaves alone are still there."""
    picky = msgspec.structs.replace(
        AGENT,
        spec=msgspec.structs.replace(AGENT.spec, node_selector={labels.INSTANCE_TYPE: "large"}),
    )
    other = DaemonSet("other", "kube-system", PodSpec({"cpu": 1}))
    context = msgspec.structs.replace(world(POOL), daemon_sets=(other, picky))
    (reason,) = explained(ask(host_ports=(PORT,)), context).reasons
    assert reason.reason == Reason.POD_ANTI_AFFINITY
    assert reason.instance_types_left == 1


def test_of_two_daemon_sets_on_one_port_the_first_by_name_is_named() -> None:
    """Whichever the cluster lists first."""
    rival = msgspec.structs.replace(AGENT, name="zealot")
    for daemons in ((AGENT, rival), (rival, AGENT)):
        context = msgspec.structs.replace(world(POOL), daemon_sets=daemons)
        (told,) = explain_unplaced([ask(host_ports=(PORT,))], context)
        assert "kube-system/agent" in told.summary


def test_the_type_named_as_an_example_does_not_depend_on_the_order_of_types() -> None:
    """Two types left out by the pool would do: the first by name is told."""
    pool = NodePool("default", requirements=(isin(labels.INSTANCE_TYPE, "small"),))
    twin = msgspec.structs.replace(LARGE, name="vast", requirements=kind("vast", 32).requirements)
    for types in ((SMALL, LARGE, twin), (twin, LARGE, SMALL)):
        told = explained(ask({"cpu": 8000}), world(pool, types=types))
        assert told.fix.endswith("such as large")


def test_what_fits_within_limits_minimums_and_slots_passes_on() -> None:
    """Nothing but other pods is left to blame."""
    choosy = msgspec.structs.replace(CHOOSY, limits={"cpu": 100_000})
    volumes = PodVolumes(attachments=(("csi", ("shop/data",)),))
    context = msgspec.structs.replace(world(choosy), volumes={"shop/web": volumes})
    (reason,) = explained(ask(), context).reasons
    assert reason.reason == Reason.POD_ANTI_AFFINITY
    assert reason.instance_types_left == 2


def test_without_any_pool_one_is_to_be_made() -> None:
    """The one reason is of no pool."""
    answer = explained(ask(), Context())
    assert [(one.node_pool, one.reason) for one in answer.reasons] == [("", Reason.NO_NODE_POOLS)]
    assert answer.fix == "create a NodePool"


def test_the_same_message_of_every_pool_is_said_once() -> None:
    """A summary is one sentence, whatever the number of pools."""
    answer = explained(ask({"cpu": 64_000}), world(NodePool("a"), NodePool("b")))
    assert answer.summary == (
        "No NodePool can launch a node for it: the pod requests cpu 64; "
        "the largest instance type leaves cpu 32."
    )


@pytest.mark.parametrize(
    ("pool", "selector"),
    [
        pytest.param(OPEN_TEAMS, {"team": "red"}, id="any value of an open label"),
        pytest.param(TEAMS, {"team": "blue"}, id="one of the pool's values"),
        pytest.param(NodePool("default", labels={"team": "red"}), {"team": "red"}, id="its label"),
        pytest.param(POOL, {labels.NODE_POOL: "default"}, id="the pool's name"),
        pytest.param(
            NodePool("default", node_class=NodeClassRef("k.sh", "KWOKNodeClass", "c")),
            {"k.sh/kwoknodeclass": "c"},
            id="the node class",
        ),
        pytest.param(POOL, {labels.ZONE: "a", labels.INSTANCE_TYPE: "small"}, id="the type's own"),
    ],
)
def test_labels_that_a_pool_can_give_are_no_obstacle(
    pool: NodePool, selector: dict[str, str]
) -> None:
    """The pod passes the sieve, so only other pods can be in the way."""
    (reason,) = explained(ask(node_selector=selector), world(pool)).reasons
    assert reason.reason == Reason.POD_ANTI_AFFINITY


def test_min_values_give_way_where_the_policy_says_so() -> None:
    """BestEffort never blocks a pod."""
    policy = Policy(min_values_policy=MinValuesPolicy.BEST_EFFORT)
    context = msgspec.structs.replace(world(CHOOSY), policy=policy)
    (reason,) = explained(ask({"cpu": 8000}), context).reasons
    assert reason.reason == Reason.POD_ANTI_AFFINITY


def test_soft_taints_and_tolerations_do_not_repel() -> None:
    """PreferNoSchedule is a preference, and a tolerated taint is none."""
    soft = NodePool("default", taints=(Taint("x", effect="PreferNoSchedule"), Taint("y")))
    tolerant = ask(tolerations=(Toleration("y", "Exists"),))
    (reason,) = explained(tolerant, world(soft)).reasons
    assert reason.reason == Reason.POD_ANTI_AFFINITY


def test_an_affinity_to_pods_that_run_is_not_called_lonely() -> None:
    """The pods are there; it is their place that cannot be had."""
    db = Pod("db", "shop", PodSpec({}), labels={"app": "db"}, node_name="n")
    context = msgspec.structs.replace(world(POOL), pods=(db,))
    (reason,) = explained(ask(affinity=(NEAR_DB,)), context).reasons
    assert "required affinity" in reason.message


def test_the_first_of_its_kind_is_not_lonely() -> None:
    """A pod that matches its own affinity may start alone."""
    context = msgspec.structs.replace(world(POOL), pods=())
    own = PodTerm(labels.ZONE, equality({"app": "web"}))
    (reason,) = explained(ask(affinity=(own,)), context).reasons
    assert "nowhere" not in reason.message


def test_labels_of_existing_nodes_help_to_spot_slips() -> None:
    """What only an unmanaged node has may still be what was meant."""
    context = msgspec.structs.replace(world(POOL), nodes=(Node("n", labels={"rack": "1"}),))
    pods = [ask(node_selector={slip: "1"}) for slip in ("rakc", "rackk")]
    assert [one.fix for one in explain_unplaced(pods, context)] == [
        "use label rack instead of rakc",
        "use label rack instead of rackk",
    ]


def test_pods_alike_get_the_same_answer_in_their_order() -> None:
    """Explained once, told for each."""
    one = ask()
    pods = [msgspec.structs.replace(one, name=name) for name in ("b", "a")]
    got = explain_unplaced(pods, world(TAINTED))
    assert [one.pod for one in got] == ["shop/b", "shop/a"]
    assert got[0].reasons == got[1].reasons


@pytest.mark.parametrize(
    ("message", "want"),
    [
        pytest.param("", "The pod has scheduling gates, so kube-scheduler", id="in general"),
        pytest.param("two gates are shut", "two gates are shut.", id="in its own words"),
        pytest.param("Two gates.", "Two gates.", id="in a whole sentence"),
    ],
)
def test_a_refused_pod_is_told_its_problem(message: str, want: str) -> None:
    """The problem's message is the sentence; without one, the reason's general sentence."""
    problem = Problem(Reason.SCHEDULING_GATED, message, "open the gates")
    (answer,) = explain_refused(((ask(), problem),))
    assert answer.fix == "open the gates"
    assert answer.summary.startswith(want)
    assert answer.summary.endswith(".")
    assert [(one.node_pool, one.reason) for one in answer.reasons] == [
        ("", Reason.SCHEDULING_GATED)
    ]
