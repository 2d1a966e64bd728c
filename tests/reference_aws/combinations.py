"""Lists node classes with pools and pods that the reference and Dovetail both get as manifests.

Each combination has a class, a pool and one pod of its own, all of its name, so that everything
that a controller does can be told apart by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.e2e.ec2_world import CLUSTER, ROLE
from tests.e2e.manifests import CAPACITY_TYPE, ZONE, requirement
from tests.reference_aws.questions import USER_DATA
from tests.reference_aws.reference import ZONES

Tree = dict[str, Any]

NAMESPACE: Final = "beside"
TOLERATED: Final = {"operator": "Exists"}
GROUP_NAME: Final = "more-nodes"
OWN_IMAGE: Final = "own-al2023-image"
IMAGE_TAG: Final = {"use": "tests"}
OWN_PROFILE: Final = "own-profile"
PLACEMENT_GROUP: Final = "close-together"
_PARAMETER: Final = (
    "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"
)
_DISCOVERED: Final = [{"tags": {"karpenter.sh/discovery": CLUSTER}}]
_AL2_IMAGE: Final = {"name": "amazon-eks-node-1.32-v20251201", "owner": "amazon"}
_PREFIX: Final = "karpenter.k8s.aws/instance-"
_AMD64: Final = requirement("kubernetes.io/arch", "In", "amd64")
_ARM64: Final = requirement("kubernetes.io/arch", "In", "arm64")
_LINUX: Final = requirement("kubernetes.io/os", "In", "linux")
_WINDOWS: Final = requirement("kubernetes.io/os", "In", "windows")
_ON_DEMAND: Final = requirement(CAPACITY_TYPE, "In", "on-demand")
_SPOT: Final = requirement(CAPACITY_TYPE, "In", "spot")
_EITHER: Final = requirement(CAPACITY_TYPE, "In", "spot", "on-demand")
_COMMON: Final = requirement(_PREFIX + "category", "In", "c", "m", "r")
_NEW: Final = requirement(_PREFIX + "generation", "Gt", "4")
_USUAL: Final = (_AMD64, _LINUX, _ON_DEMAND, _COMMON, _NEW)
_RICH_KUBELET: Final = {
    "maxPods": 42,
    "systemReserved": {"cpu": "100m", "memory": "200Mi"},
    "kubeReserved": {"cpu": "200m", "memory": "300Mi", "ephemeral-storage": "3Gi"},
    "evictionHard": {"memory.available": "5%", "nodefs.available": "10%"},
    "evictionSoft": {"memory.available": "500Mi"},
    "evictionSoftGracePeriod": {"memory.available": "1m30s"},
    "evictionMaxPodGracePeriod": 60,
    "imageGCHighThresholdPercent": 85,
    "imageGCLowThresholdPercent": 80,
    "cpuCFSQuota": True,
}


@dataclass(frozen=True)
class Account:
    """What combinations name of an account by ids."""

    subnet: str
    group: str
    image: str
    reservation: str


@dataclass(frozen=True)
class Combination:
    """A node class with a pool and a pod for it."""

    name: str
    family: str
    node_class: Tree
    requirements: tuple[Tree, ...] = _USUAL
    template: Mapping[str, object] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, str] = field(default_factory=dict)
    choice: Mapping[str, str] = field(default_factory=dict)
    launches: bool = True  # its class becomes ready
    joins: bool = True  # its instance joins the cluster

    def manifests(self) -> list[Tree]:
        """The class, the pool and the pod; a class that never is ready stands alone."""
        return [self._class(), *([self._pool(), self._pod()] if self.launches else [])]

    def _class(self) -> Tree:
        spec = {
            "role": ROLE,
            "subnetSelectorTerms": _DISCOVERED,
            "securityGroupSelectorTerms": _DISCOVERED,
        } | self.node_class
        if "instanceProfile" in spec:
            del spec["role"]
        return {
            "apiVersion": "karpenter.k8s.aws/v1",
            "kind": "EC2NodeClass",
            "metadata": {"name": self.name},
            "spec": spec,
        }

    def _pool(self) -> Tree:
        reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": self.name}
        spec = {"nodeClassRef": reference, "requirements": list(self.requirements)}
        metadata = {"metadata": {"labels": dict(self.labels)}} if self.labels else {}
        return {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": self.name},
            "spec": {
                "template": metadata | {"spec": spec | dict(self.template)},
                "disruption": {"consolidateAfter": "Never"},
            },
        }

    def _pod(self) -> Tree:
        requests = {"cpu": "1", "memory": "512Mi"} | dict(self.requests)
        extended = {key: amount for key, amount in requests.items() if "/" in key}
        resources = {"requests": requests, "limits": extended}
        image = "registry.example/main:1"
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {
                "containers": [{"name": "main", "image": image, "resources": resources}],
                "nodeSelector": {"karpenter.sh/nodepool": self.name, **self.choice},
                "tolerations": [TOLERATED],
                "terminationGracePeriodSeconds": 0,
            },
        }


def combinations(account: Account) -> tuple[Combination, ...]:
    """All of them; their names differ."""
    return (
        *_capacities(),
        *_selections(account),
        *_launch_settings(),
        *_networks(),
        *_al2023_bootstraps(),
        *_other_linux(),
        *_windows(),
        *_unready(),
    )


def _al2023(name: str, *requirements: Tree, **others: Any) -> Combination:
    spec = {"amiSelectorTerms": [{"alias": "al2023@latest"}]} | others.pop("node_class", {})
    return Combination(f"al2023-{name}", "AL2023", spec, requirements or _USUAL, **others)


def _capacities() -> Iterator[Combination]:
    yield _al2023("on-demand")
    yield _al2023("spot", _AMD64, _LINUX, _SPOT, _COMMON, _NEW)
    yield _al2023("either", _AMD64, _LINUX, _EITHER, _COMMON, _NEW)
    yield _al2023("arm64", _ARM64, _LINUX, _SPOT, _COMMON, _NEW)
    yield _al2023("one-type", *_USUAL, _type("m5.xlarge"))
    yield _al2023("zone", choice={ZONE: ZONES[1]})
    diverse = requirement(_PREFIX + "family", "Exists", minValues=3)
    yield _al2023("min-values", *_USUAL, diverse)
    yield _al2023("gpu", _LINUX, _ON_DEMAND, requests={"nvidia.com/gpu": "1"})
    yield _al2023("neuron", _LINUX, _ON_DEMAND, requests={"aws.amazon.com/neuron": "1"})


def _type(name: str) -> Tree:
    return requirement("node.kubernetes.io/instance-type", "In", name)


def _selections(account: Account) -> Iterator[Combination]:
    pinned = [{"alias": "al2023@v20251201"}]
    yield _al2023("pinned", node_class={"amiSelectorTerms": pinned})
    own = {"amiFamily": "AL2023"}
    for name, term in (
        ("image-id", {"id": account.image}),
        ("image-name", {"name": "own-al2023-*", "owner": "self"}),
        ("image-tags", {"tags": IMAGE_TAG}),
        ("image-parameter", {"ssmParameter": _PARAMETER}),
    ):
        yield _al2023(name, node_class=own | {"amiSelectorTerms": [term]})
    yield _al2023("subnet-id", node_class={"subnetSelectorTerms": [{"id": account.subnet}]})
    groups = [{"id": account.group}, {"tags": {"karpenter.sh/discovery": "*"}}]
    yield _al2023("group-id", node_class={"securityGroupSelectorTerms": groups})
    named = [{"name": GROUP_NAME}]
    yield _al2023("group-name", node_class={"securityGroupSelectorTerms": named})
    yield _al2023("own-profile", node_class={"instanceProfile": OWN_PROFILE})
    reserved = {"capacityReservationSelectorTerms": [{"id": account.reservation}]}
    wants = requirement(CAPACITY_TYPE, "In", "reserved", "on-demand")
    yield _al2023("reserved", _AMD64, _LINUX, wants, node_class=reserved)


def _launch_settings() -> Iterator[Combination]:
    tags = {"cost-centre": "7", "Name": "worker"}
    yield _al2023("tags", node_class={"tags": tags, "context": "context-7"})
    root = {"deviceName": "/dev/xvda", "rootVolume": True}
    disk = {"volumeSize": "100G", "volumeType": "gp3", "iops": 4000, "throughput": 250}
    data = {"volumeSize": "1Ti", "volumeType": "io2", "iops": 5000, "encrypted": False}
    devices = [root | {"ebs": disk | {"encrypted": True, "deleteOnTermination": True}}]
    devices.append({"deviceName": "/dev/xvdb", "ebs": data})
    yield _al2023("disks", node_class={"blockDeviceMappings": devices})
    metadata = {"httpTokens": "optional", "httpPutResponseHopLimit": 2}
    metadata |= {"httpEndpoint": "enabled", "httpProtocolIPv6": "enabled"}
    yield _al2023("metadata", node_class={"metadataOptions": metadata, "detailedMonitoring": True})
    nvme = requirement(_PREFIX + "local-nvme", "Gt", "100")
    yield _al2023("raid0", *_USUAL, nvme, node_class={"instanceStorePolicy": "RAID0"})
    virtual = {"cpuOptions": {"nestedVirtualization": "disabled"}}
    yield _al2023("cpu-options", node_class=virtual)


def _networks() -> Iterator[Combination]:
    addresses = {"associatePublicIPAddress": True, "ipPrefixCount": 2}
    yield _al2023("addresses", node_class=addresses)
    tracking = {"tcpEstablishedTimeout": 350, "udpStreamTimeout": 120, "udpTimeout": 45}
    yield _al2023("tracking", node_class={"connectionTracking": tracking})
    yield _al2023("efa", *_USUAL, requests={"vpc.amazonaws.com/efa": "1"})
    first = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
    second = {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"}
    efa = requirement("node.kubernetes.io/instance-type", "In", "c6in.32xlarge", "m6in.32xlarge")
    yield _al2023("interfaces", *_USUAL, efa, node_class={"networkInterfaces": [first, second]})
    close = {"placementGroupSelector": {"name": PLACEMENT_GROUP}}
    yield _al2023("placement-group", node_class=close)


def _al2023_bootstraps() -> Iterator[Combination]:
    shell, archive, config = USER_DATA["AL2023"]
    yield _al2023("shell", node_class={"userData": shell})
    yield _al2023("archive", node_class={"userData": archive})
    yield _al2023("node-config", node_class={"userData": config})
    yield _al2023("kubelet", node_class={"kubelet": _RICH_KUBELET})
    yield _al2023("pods-per-core", node_class={"kubelet": {"podsPerCore": 4, "maxPods": 30}})
    yield _al2023("dns", node_class={"kubelet": {"clusterDNS": ["10.0.100.10", "10.0.100.11"]}})
    taint = {"key": "team", "value": "store", "effect": "NoSchedule"}
    startup = {"key": "agent", "effect": "NoExecute"}
    template = {"taints": [taint], "startupTaints": [startup], "expireAfter": "48h"}
    labels = {"team": "store", "example.com/tier": "gold"}
    yield _al2023("taints", template=template, labels=labels)


def _other_linux() -> Iterator[Combination]:
    al2: Tree = {"amiFamily": "AL2", "amiSelectorTerms": [_AL2_IMAGE]}
    nvme = requirement(_PREFIX + "local-nvme", "Gt", "100")
    raid = {"instanceStorePolicy": "RAID0"}
    yield Combination("al2-plain", "AL2", al2)
    kubelet = _RICH_KUBELET | {"podsPerCore": 8, "clusterDNS": ["10.0.100.10"]}
    yield Combination("al2-kubelet", "AL2", al2 | {"kubelet": kubelet})
    yield Combination("al2-archive", "AL2", al2 | {"userData": USER_DATA["AL2"][1]})
    yield Combination("al2-raid0", "AL2", al2 | raid, (*_USUAL, nvme))
    rocket: Tree = {"amiSelectorTerms": [{"alias": "bottlerocket@latest"}]}
    yield Combination("bottlerocket-plain", "Bottlerocket", rocket)
    arm64 = (_ARM64, _LINUX, _EITHER, _COMMON, _NEW)
    yield Combination("bottlerocket-arm64", "Bottlerocket", rocket, arm64)
    yield Combination("bottlerocket-kubelet", "Bottlerocket", rocket | {"kubelet": _RICH_KUBELET})
    text = USER_DATA["Bottlerocket"][0]
    yield Combination("bottlerocket-toml", "Bottlerocket", rocket | {"userData": text})
    yield Combination("bottlerocket-raid0", "Bottlerocket", rocket | raid, (*_USUAL, nvme))
    pinned = {"amiSelectorTerms": [{"alias": "bottlerocket@v1.50.0"}]}
    yield Combination("bottlerocket-pinned", "Bottlerocket", pinned)
    custom = {"amiFamily": "Custom", "amiSelectorTerms": [{"alias": "al2023@latest"}]}
    custom |= {"userData": USER_DATA["Custom"][0]}
    yield Combination("custom-plain", "Custom", custom, joins=False)


def _windows() -> Iterator[Combination]:
    requirements = (_AMD64, _WINDOWS, _ON_DEMAND, _COMMON, _NEW)
    for year in ("2019", "2022", "2025"):
        spec: Tree = {"amiSelectorTerms": [{"alias": f"windows{year}@latest"}]}
        yield Combination(f"windows{year}-plain", f"Windows{year}", spec, requirements)
    text = USER_DATA["Windows2022"][0]
    spec = {"amiSelectorTerms": [{"alias": "windows2022@latest"}], "userData": text}
    spec["kubelet"] = _RICH_KUBELET | {"podsPerCore": 8}
    yield Combination("windows2022-kubelet", "Windows2022", spec, requirements)


def _unready() -> Iterator[Combination]:
    nowhere = [{"tags": {"karpenter.sh/discovery": "another"}}]
    for name, spec in (
        ("no-subnets", {"subnetSelectorTerms": nowhere}),
        ("no-groups", {"securityGroupSelectorTerms": nowhere}),
        ("no-image", {"amiFamily": "AL2023", "amiSelectorTerms": [{"name": "no-such-image"}]}),
        ("no-profile", {"instanceProfile": "no-such-profile"}),
        ("no-placement-group", {"placementGroupSelector": {"name": "no-such-group"}}),
        ("old-alias", {"amiSelectorTerms": [{"alias": "al2@latest"}]}),
    ):
        yield _al2023(name, node_class=spec, launches=False)
