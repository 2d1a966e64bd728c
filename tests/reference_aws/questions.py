"""Makes node classes, claims and settings at random, the same for the same seed.

All are valid: the reference validates nothing where it is asked here.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.reference_aws.reference import ZONES, Tree, machines

FAMILIES: Final = {
    "AL2": "al2",
    "AL2023": "al2023",
    "Bottlerocket": "bottlerocket",
    "Windows2019": "windows2019",
    "Windows2022": "windows2022",
    "Windows2025": "windows2025",
    "Custom": "",
}
CA_BUNDLE: Final = "Q0EtQlVORExF"
CLUSTER: Final = "shop"
ENDPOINT: Final = "https://shop.example.com"
_SHELL: Final = "#!/bin/bash\necho 'hello'\n"
_MIME: Final = (
    'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="BOUNDARY"\n\n'
    '--BOUNDARY\nContent-Type: text/x-shellscript; charset="us-ascii"\n\n'
    "#!/bin/bash\necho first\n--BOUNDARY--\n"
)
_NODE_CONFIG: Final = (
    "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n"
    "      serializeImagePulls: false\n"
)
_TOML: Final = (
    "[settings.kernel]\nlockdown = 'integrity'\n[settings.kubernetes]\n"
    "'event-qps' = 0\n[settings.kubernetes.node-labels]\n'team' = 'store'\n"
)
_POWERSHELL: Final = "Write-Host 'hello'"
USER_DATA: Final = {
    "AL2": (_SHELL, _MIME, "echo bare"),
    "AL2023": (_SHELL, _MIME, _NODE_CONFIG),
    "Bottlerocket": (_TOML,),
    "Windows2019": (_POWERSHELL,),
    "Windows2022": (_POWERSHELL,),
    "Windows2025": (_POWERSHELL,),
    "Custom": (_SHELL,),
}


def question(seed: int) -> Tree:
    """One node class with a claim for it, in some cluster."""
    random = Random(seed)  # noqa: S311 -- repeatable, and no secret
    family = random.choice(tuple(FAMILIES))
    names = sorted(machines())
    return {
        "Settings": {
            "ClusterName": CLUSTER,
            "ClusterEndpoint": ENDPOINT,
            "VMMemoryOverheadPercent": random.choice((0.075, 0.075, 0.0, 0.1, 0.0625)),
            "ReservedENIs": random.choice((0, 0, 0, 1, 2)),
            "ReservedCapacity": random.random() < 0.5,
        },
        "NodeClass": node_class(random, family),
        "NodeClaim": _claim(random),
        "InstanceTypes": sorted(random.sample(names, 8)),
        "Zones": list(ZONES),
        "CABundle": CA_BUNDLE,
        "ClusterCIDR": "10.100.0.0/16",
        "DNSIP": random.choice(("10.100.0.10", "fd00::a")),
        "IPFamily": random.choice(("IPv4", "IPv4", "IPv6")),
        "CapacityType": random.choice(("spot", "on-demand")),
        "Tenancy": random.choice(("default", "default", "dedicated")),
        "Labels": {"team": "store", "karpenter.sh/nodepool": "general"},
        "Tags": {"karpenter.sh/nodepool": "general", f"kubernetes.io/cluster/{CLUSTER}": "owned"},
    }


def node_class(random: Random, family: str) -> Tree:
    """A node class of this family, with its status."""
    spec: Tree = {
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
        "role": "node-role",
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": random.choice((1, 2)),
            "httpTokens": random.choice(("required", "optional")),
        },
    }
    alias = FAMILIES[family]
    if alias and random.random() < 0.7:
        spec["amiSelectorTerms"] = [{"alias": f"{alias}@latest"}]
    else:
        spec |= {"amiFamily": family, "amiSelectorTerms": [{"id": "ami-0123456789abcdef0"}]}
    _add(random, spec, "userData", random.choice(USER_DATA[family]))
    _add(random, spec, "kubelet", _kubelet(random, family))
    _add(random, spec, "blockDeviceMappings", _devices(random))
    _add(random, spec, "tags", {"cost-centre": "7", "Name": "worker"})
    if not family.startswith("Windows"):
        _add(random, spec, "instanceStorePolicy", "RAID0")
    _add(random, spec, "detailedMonitoring", random.choice((True, False)))
    _add(random, spec, "associatePublicIPAddress", random.choice((True, False)))
    _add(random, spec, "ipPrefixCount", random.choice((1, 4)))
    _add(random, spec, "connectionTracking", {"tcpEstablishedTimeout": 350, "udpTimeout": 45})
    _add(random, spec, "context", "ctx-1")
    if random.random() < 0.15:
        spec["networkInterfaces"] = [
            {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
            {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"},
        ]
    if random.random() < 0.1:
        spec["cpuOptions"] = {"nestedVirtualization": random.choice(("enabled", "disabled"))}
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default", "uid": "0b0a6b5e-0000-4000-8000-000000000001"},
        "spec": spec,
        "status": _status(),
    }


def _add(random: Random, spec: Tree, field: str, value: Any) -> None:
    if random.random() < 0.35:
        spec[field] = value


def _kubelet(random: Random, family: str) -> Tree:
    kubelet: Tree = {}
    _add(random, kubelet, "maxPods", random.choice((8, 58, 110)))
    if family != "Bottlerocket":
        _add(random, kubelet, "podsPerCore", random.choice((2, 10)))
    _add(random, kubelet, "clusterDNS", ["10.0.100.10"])
    _add(random, kubelet, "systemReserved", {"cpu": "100m", "memory": "100Mi"})
    _add(random, kubelet, "kubeReserved", {"memory": "1Gi", "ephemeral-storage": "3Gi"})
    _add(random, kubelet, "evictionHard", random.choice(_EVICTIONS))
    if random.random() < 0.2:
        kubelet["evictionSoft"] = {"memory.available": "10%", "nodefs.available": "15%"}
        kubelet["evictionSoftGracePeriod"] = {"memory.available": "1m", "nodefs.available": "2m"}
        kubelet["evictionMaxPodGracePeriod"] = 60
    if random.random() < 0.2:
        kubelet["imageGCHighThresholdPercent"] = 85
        kubelet["imageGCLowThresholdPercent"] = 80
    _add(random, kubelet, "cpuCFSQuota", random.choice((True, False)))
    return kubelet


_EVICTIONS: Final = (
    {"memory.available": "5%", "nodefs.available": "10%"},
    {"memory.available": "500Mi"},
    {"memory.available": "100%", "nodefs.available": "2Gi"},
    {"nodefs.inodesFree": "5%"},
)


def _devices(random: Random) -> list[Tree]:
    root = {
        "deviceName": "/dev/xvda",
        "rootVolume": True,
        "ebs": {
            "volumeSize": random.choice(("100Gi", "50G", "1Ti")),
            "volumeType": random.choice(("gp3", "io1")),
            "iops": 3000,
            "encrypted": True,
            "deleteOnTermination": True,
        },
    }
    other = {"deviceName": "/dev/xvdb", "ebs": {"volumeSize": "200Gi", "volumeType": "gp2"}}
    if random.random() < 0.3:
        root["rootVolume"] = False
    return [root, other] if random.random() < 0.5 else [root]


def _status() -> Tree:
    return {
        "amis": [
            _image("ami-amd64", "amd64"),
            _image("ami-arm64", "arm64"),
        ],
        "subnets": [
            {"id": f"subnet-{zone[-1]}", "zone": zone, "zoneID": zone_id}
            for zone, zone_id in zip(ZONES, ("usw2-az2", "usw2-az1", "usw2-az3"), strict=True)
        ],
        "securityGroups": [{"id": "sg-1", "name": "one"}, {"id": "sg-2", "name": "two"}],
        "instanceProfile": "shop_profile",
    }


def _image(image_id: str, arch: str) -> Tree:
    arch_is = {"key": "kubernetes.io/arch", "operator": "In", "values": [arch]}
    return {"id": image_id, "name": f"image-{arch}-v1.40.0", "requirements": [arch_is]}


def _claim(random: Random) -> Tree:
    taint = {"key": "team", "value": "store", "effect": "NoSchedule"}
    startup = {"key": "agent", "effect": "NoExecute"}
    resources = {"cpu": "1", "memory": "1Gi"}
    if random.random() < 0.1:
        resources["vpc.amazonaws.com/efa"] = "1"
    return {
        "metadata": {"name": "general-x1", "labels": {"team": "store"}},
        "spec": {
            "nodeClassRef": {
                "group": "karpenter.k8s.aws",
                "kind": "EC2NodeClass",
                "name": "default",
            },
            "taints": [taint] if random.random() < 0.5 else [],
            "startupTaints": [startup] if random.random() < 0.3 else [],
            "resources": {"requests": resources},
            "requirements": [
                {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["general"]}
            ],
        },
    }
