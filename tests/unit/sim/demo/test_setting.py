"""What the demo begins with: its own manifests, or those that a user brings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.errors import InputError
from dovetail.kube.seam import Ref, Scope
from dovetail.sim.demo.setting import Setting, demo_setting, setting_of, settle
from dovetail.testing.virtual_time import VirtualTime

NOW = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
POOL = api.KINDS["karpenter.sh", "NodePool"]
MINE = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: mine}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: prod}
      requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
---
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}
  - {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}
  - apiVersion: v1
    kind: Pod
    metadata: {name: p, namespace: shop, uid: u, resourceVersion: "7"}
    spec: {containers: [{name: a, image: i, resources: {requests: {cpu: "1"}}}]}
"""


async def settled(setting: Setting) -> MemoryKube:
    """An API with these objects."""
    kube = MemoryKube(VirtualTime(NOW))
    await settle(kube, setting)
    return kube


async def test_everything_that_is_shipped_is_accepted() -> None:
    """By the rules of the CRDs, too; and nothing lives in the namespace `default`."""
    setting = demo_setting()
    kube = await settled(setting)
    assert not setting.skipped
    names = [
        api.decode(api.NodePool, raw).metadata.name for raw in (await kube.list(Scope(POOL))).items
    ]
    assert sorted(names) == ["demo-general", "demo-gpu"]
    kinds = (api.KINDS["apps", "Deployment"], api.KINDS["batch", "Job"], api.KINDS["", "Pod"])
    for kind in kinds:
        assert not (await kube.list(Scope(kind, namespace="default"))).items


async def test_a_users_pools_launch_pretended_nodes(tmp_path: Path) -> None:
    """Kinds that nobody knows are counted, namespaces are made, what a server wrote is dropped."""
    (tmp_path / "all.yaml").write_text(MINE)
    setting = setting_of(str(tmp_path))
    kube = await settled(setting)
    raw = await kube.get(Ref(POOL, "mine"))
    assert api.decode(api.NodePool, raw).spec.template.spec.node_class_ref.kind == "KWOKNodeClass"
    assert setting.adapted == ["mine"]
    assert setting.skipped["Widget"] == 1
    assert await kube.get(Ref(api.KINDS["", "Pod"], "p", "shop"))


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        pytest.param("a.yaml", "a: [", "a.yaml, document 1", id="broken"),
        pytest.param("a.txt", "a: 1", "holds no manifests", id="none"),
        pytest.param(
            "a.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: p}}", "Pod p:", id="invalid"
        ),
    ],
)
async def test_what_cannot_be_taken_is_told(
    tmp_path: Path, name: str, text: str, complaint: str
) -> None:
    """With its file, or its object."""
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=complaint):
        await settled(setting_of(str(tmp_path)))


def test_a_directory_that_is_none_is_told() -> None:
    """By the flag that named it."""
    with pytest.raises(InputError, match="--manifests: /nowhere: not a directory"):
        setting_of("/nowhere")
