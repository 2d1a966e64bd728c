from __future__ import annotations

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.volumes import pod_volumes, volumes_by_pod
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.topology import NodeTerm
from dovetail.model.verdict import Problem, Reason
from dovetail.model.volumes import NO_VOLUMES, PodVolumes, StorageClass, Volume, VolumeClaim

POD = Pod("db-0", "shop", PodSpec({"pods": 1}), claim_names=("data",))
IN_A = NodeTerm((requirement(labels.ZONE, "In", ["a"]),))
IN_B = NodeTerm((requirement(labels.ZONE, "In", ["b"]),))
BOUND = VolumeClaim("data", "shop", "fast", volume_name="pv")
UNBOUND = VolumeClaim("data", "shop", "fast")
FAST = StorageClass("fast", "csi.fast", terms=(IN_A, IN_B))
PV = Volume("pv", "csi.disk", (IN_A,))


def snapshot(
    claim: VolumeClaim | None = None,
    volumes: tuple[Volume, ...] = (),
    classes: tuple[StorageClass, ...] = (),
) -> Snapshot:
    """A cluster with this storage."""
    return Snapshot(
        volume_claims={"shop/data": claim} if claim else {},
        volumes={one.name: one for one in volumes},
        storage_classes={one.name: one for one in classes},
    )


def lost(**fields: object) -> VolumeClaim:
    """The bound claim with something wrong."""
    return msgspec.structs.replace(BOUND, **fields)


@pytest.mark.parametrize(
    ("storage", "want"),
    [
        pytest.param(snapshot(), Reason.CLAIM_NOT_FOUND, id="no claim"),
        pytest.param(
            snapshot(lost(is_deleting=True), (PV,)), Reason.CLAIM_UNUSABLE, id="claim deleted"
        ),
        pytest.param(snapshot(lost(is_lost=True), (PV,)), Reason.CLAIM_UNUSABLE, id="claim lost"),
        pytest.param(snapshot(BOUND), Reason.VOLUME_NOT_FOUND, id="no volume"),
        pytest.param(
            snapshot(BOUND, (Volume("pv", is_deleting=True),)),
            Reason.CLAIM_UNUSABLE,
            id="volume deleted",
        ),
        pytest.param(
            snapshot(lost(is_bind_completed=False), (PV,)), Reason.CLAIM_UNUSABLE, id="half bound"
        ),
        pytest.param(snapshot(UNBOUND), Reason.STORAGE_CLASS_NOT_FOUND, id="no class"),
        pytest.param(
            snapshot(VolumeClaim("data", "shop", "")), Reason.CLAIM_UNUSABLE, id="static, unbound"
        ),
        pytest.param(
            snapshot(VolumeClaim("data", "shop", None)), Reason.CLAIM_UNUSABLE, id="no default"
        ),
        pytest.param(
            snapshot(UNBOUND, (), (StorageClass("fast", is_immediate=True),)),
            Reason.VOLUME_UNBOUND_IMMEDIATE,
            id="bound at once",
        ),
    ],
)
def test_a_volume_that_cannot_be_had_is_a_reason(storage: Snapshot, want: Reason) -> None:
    """The pod is reported with what is wrong, and what would mend it."""
    got = pod_volumes(POD, storage)
    assert isinstance(got, Problem)
    assert got.reason == want
    assert "shop/data" in got.message
    assert got.fix


@pytest.mark.parametrize(
    ("storage", "want"),
    [
        pytest.param(
            snapshot(BOUND, (PV,)),
            PodVolumes(((IN_A,),), (("csi.disk", ("shop/data",)),)),
            id="a bound volume is where it is",
        ),
        pytest.param(
            snapshot(BOUND, (Volume("pv", "", (NodeTerm(), IN_A)),), (FAST,)),
            PodVolumes((), (("csi.fast", ("shop/data",)),)),
            id="an emptied term allows everything, and the class names the driver",
        ),
        pytest.param(
            snapshot(UNBOUND, (), (FAST,)),
            PodVolumes(((IN_A, IN_B),), (("csi.fast", ("shop/data",)),)),
            id="an unbound one may be where its class allows",
        ),
        pytest.param(
            snapshot(VolumeClaim("data", "shop", None), (), (StorageClass("d", is_default=True),)),
            PodVolumes(),
            id="the default class serves claims that name none",
        ),
    ],
)
def test_volumes_say_where_a_pod_may_run(storage: Snapshot, want: PodVolumes) -> None:
    """Terms are alternatives; a driver's volumes take slots."""
    assert pod_volumes(POD, storage) == want


def test_a_pod_without_claims_asks_for_nothing() -> None:
    """No claims, no constraints."""
    assert pod_volumes(Pod("web", "shop", POD.spec), snapshot()) == NO_VOLUMES


def test_every_volume_must_be_reached_and_counts_once() -> None:
    """Each volume adds its own list of alternatives; a claim named twice is attached once."""
    storage = Snapshot(
        volume_claims={
            "shop/data": BOUND,
            "shop/logs": VolumeClaim("logs", "shop", "fast"),
        },
        volumes={"pv": PV},
        storage_classes={"fast": FAST},
    )
    pod = msgspec.structs.replace(POD, claim_names=("logs", "data", "data"))
    want = PodVolumes(
        ((IN_A,), (IN_A, IN_B)), (("csi.disk", ("shop/data",)), ("csi.fast", ("shop/logs",)))
    )
    assert pod_volumes(pod, storage) == want


def test_many_pods_are_sorted_into_needs_and_problems() -> None:
    """Pods without volumes are in neither."""
    plain = Pod("web", "shop", POD.spec)
    stray = Pod("db-1", "shop", POD.spec, claim_names=("nowhere",))
    needs, refused = volumes_by_pod((plain, POD, stray), snapshot(BOUND, (PV,)))
    assert list(needs) == ["shop/db-0"]
    assert [(pod.key, problem.reason) for pod, problem in refused] == [
        ("shop/db-1", Reason.CLAIM_NOT_FOUND)
    ]


def test_other_classes_are_suggested_for_one_that_is_missing() -> None:
    """A misnamed class is the likeliest slip."""
    got = pod_volumes(POD, snapshot(UNBOUND, (), (StorageClass("slow"),)))
    assert isinstance(got, Problem)
    assert got.fix == "create StorageClass fast, or use one of slow"


def test_pods_that_share_a_claim_get_the_same_answer() -> None:
    """The claim is read once."""
    other = msgspec.structs.replace(POD, name="db-9")
    needs, _ = volumes_by_pod((POD, other), snapshot(BOUND, (PV,)))
    assert needs["shop/db-0"] == needs["shop/db-9"]
