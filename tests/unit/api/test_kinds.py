from __future__ import annotations

import pytest

from dovetail import api

UNDERSTOOD = (
    "Pod Node PersistentVolumeClaim PersistentVolume Namespace Service LimitRange PodTemplate "
    "ReplicationController Deployment ReplicaSet StatefulSet DaemonSet Job CronJob StorageClass "
    "CSINode VolumeAttachment PodDisruptionBudget PriorityClass RuntimeClass NodePool NodeClaim "
    "NodeOverlay CapacityBuffer"
)


def test_every_kind_that_planning_reads_is_understood() -> None:
    """Neither more nor fewer."""
    assert sorted(kind.name for kind in api.KINDS.values()) == sorted(UNDERSTOOD.split())


@pytest.mark.parametrize(
    ("api_version", "name", "want"),
    [
        ("v1", "Pod", "v1"),
        ("apps/v1", "Deployment", "apps/v1"),
        ("karpenter.sh/v1beta1", "NodePool", "karpenter.sh/v1"),
    ],
)
def test_a_kind_is_found_whatever_version_it_names(api_version: str, name: str, want: str) -> None:
    """So that a wrong version can be told instead of passed over."""
    kind = api.find(api_version, name)
    assert kind is not None
    assert kind.api_version == want


@pytest.mark.parametrize(("api_version", "name"), [("v1", "Deployment"), ("apps/v1", "Pod")])
def test_a_kind_of_another_group_is_another_kind(api_version: str, name: str) -> None:
    """Names alone mean nothing."""
    assert api.find(api_version, name) is None


@pytest.mark.parametrize("kind", api.KINDS.values(), ids=lambda kind: kind.name)
def test_what_a_kind_does_not_read_is_passed_over(kind: api.Kind) -> None:
    """New fields of new versions break nothing."""
    tree: dict[str, api.Tree] = {"metadata": {"name": "x"}, "novelty": {"a": [1]}}
    if kind.name == "NodePool":
        tree = {**tree, "spec": {"template": {"spec": _TEMPLATE}}}
    if kind.name in {"NodeClaim", "NodeOverlay"}:
        tree = {**tree, "spec": _TEMPLATE}
    read = api.read(kind, tree)
    assert isinstance(read, kind.wire_type)
    assert read.metadata.name == "x"


_TEMPLATE: api.Tree = {
    "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
    "requirements": [],
}
