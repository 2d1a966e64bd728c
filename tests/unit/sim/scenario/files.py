"""Scenario files in a few words."""

from __future__ import annotations

from pathlib import Path

POOL = """\
manifests:
  - apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: default}
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
          requirements:
            - {key: kubernetes.io/arch, operator: In, values: [amd64]}
            - {key: kubernetes.io/os, operator: In, values: [linux]}
      disruption: {consolidateAfter: 1m, consolidationPolicy: WhenEmptyOrUnderutilized}
"""
WEB = """\
workloads:
  web: {requests: {cpu: 500m, memory: 1Gi}, replicas: 6}
"""
SMALL = f"lasts: 1h\n{POOL}{WEB}"


def written(folder: Path, text: str, name: str = "day.yaml") -> str:
    """A file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)
