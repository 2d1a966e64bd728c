from __future__ import annotations

import msgspec
import numpy as np

from dovetail.model.pod import DaemonSet, Owner
from dovetail.model.volumes import PodVolumes
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.units import unit_of
from dovetail.testing.builders import deployment, instance_type, node, pod
from tests.unit.solve.puzzles import encoded

CSI = "csi.example.com"
SLOTS = instance_type("slots", cpu=8, memory="32Gi", price=0.3, attach_limits={CSI: 2})
AGENT = DaemonSet("agent", "kube-system", pod("agent", cpu="500m").spec)


def volumes(*claims: str) -> PodVolumes:
    """What a pod with these claims attaches."""
    return PodVolumes(attachments=((CSI, tuple(f"default/{claim}" for claim in claims)),))


def test_running_pods_take_their_share() -> None:
    """Four cpus less one and a half."""
    held = pod("old", cpu="1500m", node="n1")
    enc = encoded([pod("web")], nodes=(node("n1", cpu=4),), bound=(held,))
    assert enc.free_nr[0, 0] == 2500


def test_a_daemon_set_keeps_its_share_until_its_pod_has_come() -> None:
    """Afterwards the pod itself counts, and only once."""
    owner = Owner("DaemonSet", "agent")
    come = msgspec.structs.replace(
        pod("agent-x", namespace="kube-system", cpu="500m", node="n1"), owner=owner
    )
    words = {"nodes": (node("n1", cpu=4),), "daemon_sets": (AGENT,)}
    before = encoded([pod("web")], **words)
    after = encoded([pod("web")], **words, bound=(come,))
    assert before.free_nr[0, 0] == after.free_nr[0, 0] == 3500


def test_daemon_pods_put_up_with_a_cordon() -> None:
    """They keep their share of a cordoned node too."""
    cordon = "node.kubernetes.io/unschedulable:NoSchedule"
    enc = encoded([pod("web")], nodes=(node("n1", cpu=4, taints=[cordon]),), daemon_sets=(AGENT,))
    assert enc.free_nr[0, 0] == 3500


def test_a_shared_claim_takes_a_slot_once() -> None:
    """Two slots: one for the volume that all share, one for the volume of a single pod."""
    readers = deployment(5, "reader", claims=["shared"])
    single = pod("single", claims=["own"])
    asked = {one.key: volumes("shared") for one in readers} | {single.key: volumes("own")}
    enc = encoded([*readers, single], SLOTS, volumes=asked)
    bins = Bins(enc)
    span = bins.open(0, 1)
    place = np.array([span.start])
    for group in range(len(enc.groups)):
        unit = unit_of(enc, group)
        count = int(enc.count_g[group])
        assert bins.room(unit, span)[0] >= count
        bins.put(group, unit, place, np.array([count]))
    assert bins.free[enc.resources.index(f"attach/{CSI}"), span.start] == 0


def test_a_slot_is_free_again_when_the_last_reader_leaves() -> None:
    """Not before."""
    readers = deployment(2, "reader", claims=["shared"])
    enc = encoded(readers, SLOTS, volumes={one.key: volumes("shared") for one in readers})
    bins = Bins(enc)
    span, unit = bins.open(0, 1), unit_of(enc, 0)
    row = enc.resources.index(f"attach/{CSI}")
    seen = []
    for change in (2, -1, -1):
        bins.shift(unit, np.array([span.start]), np.array([change]))
        seen.append(int(bins.free[row, span.start]))
    assert seen == [1, 1, 2]


def test_a_claim_that_runs_on_a_node_needs_no_slot_there() -> None:
    """The only slot of the node holds the very volume that the pod wants."""
    nodes = (node("n1", cpu=4, attach_limits={CSI: 1}),)
    old, new = pod("old", claims=["shared"], node="n1"), pod("new", claims=["shared"])
    enc = encoded(
        [new],
        nodes=nodes,
        bound=(old,),
        volumes={new.key: volumes("shared")},
        bound_volumes={old.key: volumes("shared")},
    )
    assert Bins(enc).room(unit_of(enc, 0), slice(0, 1))[0] > 0
