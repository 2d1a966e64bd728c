"""Inputs of user data whose text is kept in `golden/`, one file for each case.

`python -m tests.unit.providers.aws.bootstrap.cases` writes the files anew; read the difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dovetail.model.taints import Taint
from dovetail.providers.aws.bootstrap.families import Family
from dovetail.providers.aws.bootstrap.user_data import BootstrapInputs, user_data
from dovetail.providers.aws.node_class.kubelet import ResolvedKubelet
from dovetail.providers.aws.node_class.types import AMISelectorTerm

GOLDEN = Path(__file__).parent / "golden"
KUBELET = ResolvedKubelet(
    cluster_dns=("10.100.0.53",),
    max_pods=58,
    pods_per_core=10,
    system_reserved={"cpu": "100m", "memory": "100Mi", "ephemeral-storage": "1Gi"},
    kube_reserved={"memory": "300Mi", "cpu": "200m", "pid": "1000"},
    eviction_hard={"nodefs.available": "10%", "memory.available": "5%"},
    eviction_soft={"memory.available": "500Mi"},
    eviction_soft_grace_period={"memory.available": "1m30s"},
    eviction_max_pod_grace_period=60,
    image_gc_high_threshold_percent=85,
    image_gc_low_threshold_percent=80,
    cpu_cfs_quota=False,
    raw={
        "clusterDNS": ["10.100.0.53"],
        "containerLogMaxFiles": 3,
        "cpuCFSQuota": False,
        "evictionHard": {"memory.available": "5%", "nodefs.available": "10%"},
        "evictionMaxPodGracePeriod": 60,
        "evictionSoft": {"memory.available": "500Mi"},
        "evictionSoftGracePeriod": {"memory.available": "1m30s"},
        "imageGCHighThresholdPercent": 85,
        "imageGCLowThresholdPercent": 80,
        "kubeReserved": {"cpu": "200m", "memory": "300Mi", "pid": "1000"},
        "maxPods": 58,
        "podsPerCore": 10,
        "systemReserved": {"cpu": "100m", "ephemeral-storage": "1Gi", "memory": "100Mi"},
    },
)
SHELL = "#!/bin/bash\necho 'before the kubelet'\n"
NODE_CONFIG = """apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config:
      maxPods: 3
"""
ARCHIVE = f"""MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="BOUNDARY"

--BOUNDARY
Content-Type: text/cloud-config; charset="us-ascii"

#cloud-config
package_update: true

--BOUNDARY
Content-Type: application/node.eks.aws

{NODE_CONFIG}
--BOUNDARY--
"""
TOML = """[settings.kubernetes]
api-server = "https://elsewhere"
registry-qps = 20
made-up = true
[settings.kubernetes.node-labels]
team = "blue"
"karpenter.sh/nodepool" = "mine"
[settings.kubernetes.node-taints]
gone = ["x:NoSchedule"]
[settings.host-containers.admin]
enabled = true
"""
POWERSHELL = 'Write-Host "before the kubelet"'
RAID0 = "RAID0"


def inputs(**changes: Any) -> BootstrapInputs:
    """Inputs of an ordinary cluster."""
    given: dict[str, Any] = {
        "cluster_name": "production",
        "cluster_endpoint": "https://0123456789ABCDEF.gr7.us-west-2.eks.amazonaws.com",
        "ca_bundle": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==",
        "cluster_cidr": "10.100.0.0/16",
        "dns_ips": ("10.100.0.10",),
        "kubelet": ResolvedKubelet(),
        "max_pods": 29,
        "labels": {
            "karpenter.sh/nodepool": "default",
            "karpenter.k8s.aws/ec2nodeclass": "default",
            "team": "a",
            "node-restriction.kubernetes.io/secret": "b",
        },
        "capacity_type": "spot",
        "taints": (Taint("dedicated", "batch", "NoSchedule"),),
        "startup_taints": (Taint("cilium.io/not-ready", "", "NoExecute"),),
    }
    return BootstrapInputs(**{**given, **changes})


IPV6: dict[str, Any] = {"dns_ips": ("fd00:100::a",), "cluster_cidr": "fd00:100::/108"}
BARE: dict[str, Any] = {
    "labels": {},
    "taints": (),
    "startup_taints": (),
    "max_pods": None,
    "capacity_type": "",
}
NEW_ROCKET = (AMISelectorTerm(alias="bottlerocket@v1.46.0"),)

CASES: dict[str, tuple[Family, BootstrapInputs]] = {
    "al2": (Family.AL2, inputs()),
    "al2-bare": (Family.AL2, inputs(**BARE)),
    "al2-shell": (Family.AL2, inputs(custom=SHELL)),
    "al2-archive": (Family.AL2, inputs(custom=ARCHIVE)),
    "al2-raid0": (Family.AL2, inputs(instance_store_policy=RAID0)),
    "al2-ipv6": (Family.AL2, inputs(**IPV6)),
    "al2-kubelet": (Family.AL2, inputs(kubelet=KUBELET)),
    "al2023": (Family.AL2023, inputs()),
    "al2023-bare": (Family.AL2023, inputs(**BARE)),
    "al2023-shell": (Family.AL2023, inputs(custom=SHELL)),
    "al2023-nodeconfig": (Family.AL2023, inputs(custom=NODE_CONFIG)),
    "al2023-archive": (Family.AL2023, inputs(custom=ARCHIVE)),
    "al2023-raid0": (Family.AL2023, inputs(instance_store_policy=RAID0)),
    "al2023-ipv6": (Family.AL2023, inputs(**IPV6)),
    "al2023-kubelet": (Family.AL2023, inputs(kubelet=KUBELET)),
    "bottlerocket": (Family.BOTTLEROCKET, inputs()),
    "bottlerocket-bare": (Family.BOTTLEROCKET, inputs(**BARE)),
    "bottlerocket-toml": (Family.BOTTLEROCKET, inputs(custom=TOML)),
    "bottlerocket-raid0": (Family.BOTTLEROCKET, inputs(instance_store_policy=RAID0)),
    "bottlerocket-raid0-new": (
        Family.BOTTLEROCKET,
        inputs(instance_store_policy=RAID0, ami_selector_terms=NEW_ROCKET),
    ),
    "bottlerocket-ipv6": (Family.BOTTLEROCKET, inputs(**IPV6)),
    "bottlerocket-kubelet": (Family.BOTTLEROCKET, inputs(kubelet=KUBELET)),
    "windows2019": (Family.WINDOWS2019, inputs()),
    "windows2022": (Family.WINDOWS2022, inputs()),
    "windows2022-bare": (Family.WINDOWS2022, inputs(**BARE)),
    "windows2022-powershell": (Family.WINDOWS2022, inputs(custom=POWERSHELL)),
    "windows2022-raid0": (Family.WINDOWS2022, inputs(instance_store_policy=RAID0)),
    "windows2022-ipv6": (Family.WINDOWS2022, inputs(**IPV6)),
    "windows2022-kubelet": (Family.WINDOWS2022, inputs(kubelet=KUBELET)),
    "windows2025": (Family.WINDOWS2025, inputs()),
    "custom": (Family.CUSTOM, inputs(custom=SHELL, instance_store_policy=RAID0)),
}

if __name__ == "__main__":
    for name, (family, given) in CASES.items():
        (GOLDEN / f"{name}.txt").write_text(user_data(family, given), encoding="utf-8")
