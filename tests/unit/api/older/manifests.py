"""Older manifests of the kind that teams had, and what of the result is applied to a cluster."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

from dovetail import api
from dovetail.api.older.door import ConversionOptions
from dovetail.cloud.registry import extensions
from dovetail.kube import yaml_trees
from dovetail.kube.rewriting.files import convert_files

EXAMPLE: Final = Path(__file__).parents[4] / "examples" / "09-older-manifests"
_SELECTORS: Final = (
    "subnetSelector: {karpenter.sh/discovery: web}, "
    "securityGroupSelector: {karpenter.sh/discovery: web}"
)
_TERMS: Final = (
    "subnetSelectorTerms: [{tags: {karpenter.sh/discovery: web}}], "
    "securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: web}}]"
)
_EVERY_KUBELET_KEY: Final = (
    "{clusterDNS: [10.0.0.1], containerRuntime: containerd, maxPods: 20, podsPerCore: 2, "
    "systemReserved: {cpu: 100m, memory: 100Mi}, kubeReserved: {cpu: 200m, ephemeral-storage: 1Gi},"
    " evictionHard: {memory.available: 5%}, evictionSoft: {memory.available: 500Mi}, "
    "evictionSoftGracePeriod: {memory.available: 1m30s}, evictionMaxPodGracePeriod: 60, "
    "imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 70, cpuCFSQuota: true}"
)
CONVERTIBLE: Final = {
    "three Provisioners": (EXAMPLE / "provisioners.yaml").read_text(encoding="utf-8"),
    "a Provisioner with every field": f"""
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: every-field
  labels: {{a: b}}
  annotations: {{karpenter.sh/provisioner-hash: "1"}}
spec:
  annotations: {{example.com/owner: ml}}
  labels: {{example.com/team: ml}}
  taints: [{{key: example.com/gpu, value: "true", effect: NoSchedule}}]
  startupTaints: [{{key: example.com/starting, effect: NoExecute}}]
  requirements:
    - {{key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}}
    - {{key: topology.kubernetes.io/zone, operator: In, values: [us-west-2a]}}
    - {{key: karpenter.k8s.aws/instance-pods, operator: Gt, values: ["10"]}}
  kubeletConfiguration: {_EVERY_KUBELET_KEY}
  providerRef: {{name: every-field}}
  consolidation: {{enabled: true}}
  ttlSecondsUntilExpired: 2592000
  limits: {{resources: {{cpu: 1000, memory: 1000Gi}}}}
  weight: 10
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {{name: every-field}}
spec:
  amiFamily: AL2
  amiSelector: {{"aws::name": "amazon-eks-node-*", "aws::owners": "self,123456789012"}}
  subnetSelector: {{Name: "a,b", karpenter.sh/discovery: "*"}}
  securityGroupSelector: {{"aws::ids": "sg-0a,sg-0b"}}
  instanceProfile: nodes
  context: c
  userData: "#!/bin/sh\\n"
  tags: {{team: ml, karpenter.sh/managed-by: web}}
  detailedMonitoring: true
  metadataOptions: {{httpTokens: optional, httpEndpoint: enabled}}
  blockDeviceMappings: [{{deviceName: /dev/xvda, ebs: {{volumeSize: 20Gi, encrypted: true}}}}]
""",
    "a Provisioner with a provider": f"""
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {{name: inline}}
spec: {{provider: {{instanceProfile: nodes, {_SELECTORS}}}, ttlSecondsAfterEmpty: 30}}
""",
    "a Provisioner of v1alpha4": f"""
apiVersion: karpenter.sh/v1alpha4
kind: Provisioner
metadata: {{name: lists}}
spec:
  architectures: [arm64]
  zones: [us-west-2a]
  provider: {{instanceProfile: nodes, {_SELECTORS}}}
""",
    "a pool and a class of v1beta1": f"""
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {{name: beta}}
spec:
  template:
    metadata: {{labels: {{example.com/team: ml}}}}
    spec:
      nodeClassRef: {{apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: beta}}
      requirements:
        - {{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand], minValues: 2}}
      kubelet: {_EVERY_KUBELET_KEY}
  disruption:
    consolidationPolicy: WhenUnderutilized
    expireAfter: 720h
    budgets: [{{nodes: 10%}}, {{nodes: "0", schedule: "@daily", duration: 8h}}]
  limits: {{cpu: 1000}}
  weight: 5
---
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {{name: beta-2}}
spec:
  template:
    spec:
      nodeClassRef: {{name: beta}}
      requirements: []
      kubelet: {{maxPods: 5}}
---
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata: {{name: beta}}
spec: {{amiFamily: AL2023, role: nodes, instanceStorePolicy: RAID0, {_TERMS}}}
""",
    "a class of v1beta1 for Ubuntu": f"""
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata: {{name: ubuntu}}
spec: {{amiFamily: Ubuntu, role: nodes, amiSelectorTerms: [{{id: ami-0a}}], {_TERMS}}}
""",
}


def applicable(text: str) -> list[dict[str, api.Tree]]:
    """What is applied to a cluster: pools and classes after conversion, without any error."""
    converted = convert_files(["-"], io.BytesIO(text.encode()), extensions(), ConversionOptions())
    assert converted.errors == ()
    assert not [warning for warning in converted.warnings if "breaks a rule" in warning]
    trees = [tree for _, tree in yaml_trees.trees(converted.files[0].text.encode())]
    return [tree for tree in trees if isinstance(tree, dict)]
