"""Claims, volumes and classes, as far as they say where a pod may run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dovetail.model.requirements import Requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.topology import NodeTerm
from dovetail.model.volumes import StorageClass, VolumeClaim

Freeze = Callable[[str], Snapshot]
ZONE = "topology.kubernetes.io/zone"
DEFAULT = "annotations: {storageclass.kubernetes.io/is-default-class: 'true'}"


def storage(name: str, fields: str = "", meta: str = "") -> str:
    """A StorageClass."""
    return (
        "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\n"
        f"metadata: {{name: {name}, {meta}}}\n{fields}\n"
    )


def claim(spec: str = "", meta: str = "", status: str = "") -> str:
    """A claim named d."""
    return (
        f"---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: d, {meta}}}\n"
        f"spec: {{{spec}}}\nstatus: {{{status}}}\n"
    )


def volume(spec: str, meta: str = "") -> str:
    """A volume named v."""
    return (
        f"---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: v, {meta}}}\n"
        f"spec: {{{spec}}}\n"
    )


def affinity(*terms: str) -> str:
    """A required node affinity; each term is its expressions."""
    listed = ", ".join(f"{{matchExpressions: [{term}]}}" for term in terms)
    return f"nodeAffinity: {{required: {{nodeSelectorTerms: [{listed}]}}}}"


def key_in(key: str, *values: str) -> str:
    """key In values."""
    return f"{{key: {key}, operator: In, values: [{', '.join(values)}]}}"


def zone(*names: str) -> NodeTerm:
    """The term of these zones."""
    return NodeTerm((Requirement(ZONE, False, frozenset(names)),))


def test_a_class_keeps_driver_mode_and_topologies(freeze: Freeze) -> None:
    """Names from inside Kubernetes are those of the drivers that do their work today."""
    text = storage(
        "fast",
        "provisioner: kubernetes.io/aws-ebs\nvolumeBindingMode: WaitForFirstConsumer\n"
        "allowedTopologies:\n- matchLabelExpressions: "
        "[{key: topology.ebs.csi.aws.com/zone, values: [a, b]}]",
        DEFAULT,
    )
    assert freeze(text).storage_classes == {
        "fast": StorageClass("fast", "ebs.csi.aws.com", False, True, (zone("a", "b"),))
    }


def test_a_class_binds_at_once_unless_it_says_otherwise(freeze: Freeze) -> None:
    """That is the default of Kubernetes."""
    got = freeze(storage("x", "provisioner: example.com/x")).storage_classes["x"]
    assert (got.driver, got.is_immediate, got.is_default) == ("example.com/x", True, False)


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ("csi: {driver: d.example.com, volumeHandle: h}", "d.example.com"),
        ("awsElasticBlockStore: {volumeID: v}", "ebs.csi.aws.com"),
        ("gcePersistentDisk: {pdName: v}", "pd.csi.storage.gke.io"),
        ("azureDisk: {diskName: v}", "disk.csi.azure.com"),
        ("nfs: {server: s}", ""),
    ],
)
def test_a_volume_knows_its_driver(freeze: Freeze, spec: str, want: str) -> None:
    """Attachments are counted by driver."""
    assert freeze(volume(spec)).volumes["v"].driver == want


@pytest.mark.parametrize(
    ("spec", "meta", "want"),
    [
        pytest.param("nfs: {}", "", (), id="from anywhere"),
        pytest.param(
            affinity(key_in(ZONE, "a"), key_in(ZONE, "b")), "", (zone("a"), zone("b")), id="either"
        ),
        pytest.param(
            "local: {path: /x}, "
            + affinity(f"{key_in('kubernetes.io/hostname', 'n')}, {key_in(ZONE, 'a')}"),
            "",
            (zone("a"),),
            id="a local volume's host is taken out",
        ),
        pytest.param(
            "local: {path: /x}, " + affinity(key_in("kubernetes.io/hostname", "n")),
            "",
            (),
            id="a local volume tied to nothing else",
        ),
        pytest.param(
            "hostPath: {path: /x}, "
            + affinity(key_in("kubernetes.io/hostname", "n"), key_in(ZONE, "a")),
            "",
            (),
            id="one free alternative frees it all",
        ),
        pytest.param("nfs: {}", f"labels: {{{ZONE}: a}}", (zone("a"),), id="a zone label"),
        pytest.param(
            "nfs: {}",
            "labels: {failure-domain.beta.kubernetes.io/zone: a__b}",
            (zone("a", "b"),),
            id="an old label of two zones",
        ),
    ],
)
def test_a_volume_says_where_it_can_be_reached(
    freeze: Freeze, spec: str, meta: str, want: tuple[NodeTerm, ...]
) -> None:
    """Terms are alternatives; none at all means anywhere."""
    assert freeze(volume(spec, meta)).volumes["v"].terms == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            claim("storageClassName: x", status="phase: Pending"),
            VolumeClaim("d", "default", "x", is_bind_completed=False),
            id="waiting",
        ),
        pytest.param(
            claim("storageClassName: x, volumeName: v", status="phase: Bound"),
            VolumeClaim("d", "default", "x", "v"),
            id="bound",
        ),
        pytest.param(
            claim("volumeName: v", "annotations: {pv.kubernetes.io/bind-completed: 'yes'}"),
            VolumeClaim("d", "default", None, "v"),
            id="bound, by annotation",
        ),
        pytest.param(
            claim("volumeName: v", status="phase: Lost"),
            VolumeClaim("d", "default", None, "v", is_lost=True, is_bind_completed=False),
            id="lost",
        ),
        pytest.param(
            claim("storageClassName: ''", "deletionTimestamp: '2026-01-01T00:00:00Z'"),
            VolumeClaim("d", "default", "", is_deleting=True),
            id="on its way out",
        ),
        pytest.param(claim(), VolumeClaim("d", "default", None), id="no class, no default"),
        pytest.param(
            claim() + storage("std", meta=DEFAULT),
            VolumeClaim("d", "default", "std"),
            id="the default class",
        ),
        pytest.param(
            claim()
            + storage("a", meta=f"creationTimestamp: '2026-01-01T00:00:00Z', {DEFAULT}")
            + storage("b", meta=f"creationTimestamp: '2026-02-01T00:00:00Z', {DEFAULT}"),
            VolumeClaim("d", "default", "b"),
            id="the newest of two default classes",
        ),
    ],
)
def test_a_claim_is_read_as_it_stands(freeze: Freeze, text: str, want: VolumeClaim) -> None:
    """Class, volume and state; a claim that names no class gets the default one."""
    assert freeze(text).volume_claims == {"default/d": want}


def test_an_ephemeral_volume_brings_its_claim_along(freeze: Freeze) -> None:
    """Named POD-VOLUME, made with the pod unless it is there."""
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}], volumes: "
        "[{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: x}}}}, "
        "{name: e, emptyDir: {}}, {name: s, persistentVolumeClaim: {claimName: shared}}]}\n"
    )
    snapshot = freeze(pod)
    assert snapshot.pods[0].claim_names == ("p-tmp", "shared")
    assert snapshot.volume_claims == {"default/p-tmp": VolumeClaim("p-tmp", "default", "x")}
    listed = claim("storageClassName: y").replace("name: d", "name: p-tmp")
    assert freeze(pod + listed).volume_claims["default/p-tmp"].storage_class == "y"
