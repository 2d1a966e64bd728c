"""Laws of pieces: what a node holds is worked out anew when anything there changes."""

from __future__ import annotations

import msgspec

from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.solve.encoding.node_parts import NodePart, pieces_of
from dovetail.testing.builders import deployment, node, pod

NODES = (node("a", cpu=4), node("b", cpu=4))
WEB = deployment(2, "web", labels={"app": "web"}, cpu="500m", node="a")


def held(*pods: Pod, nodes: tuple[Node, ...] = NODES, read: tuple[str, ...] = ()) -> list[NodePart]:
    """What nodes hold with these pods on them."""
    bound = {one.name: tuple(p for p in pods if p.node_name == one.name) for one in nodes}
    return pieces_of(nodes, bound, read)[1]


def test_pods_come_to_what_they_take_and_show() -> None:
    """Requests are added up, and pods alike are counted."""
    first, second = held(*WEB, read=("app",))
    assert first.use["cpu"] == 1000
    assert first.profiles == {("default", ("web",)): 2}
    assert (second.use, second.profiles) == ({}, {})


def test_a_node_where_nothing_changed_is_not_looked_at_again() -> None:
    """The very same piece is found; the other one is new."""
    before = held(*WEB)
    after = held(*WEB, pod("db", node="b"))
    assert after[0] is before[0]
    assert after[1] is not before[1]


def test_whoever_comes_goes_or_changes_is_seen() -> None:
    """Never what was there before."""
    held(*WEB)
    assert held(WEB[0])[0].use["cpu"] == 500
    changed = msgspec.structs.replace(WEB[0], labels={"app": "other"})
    assert held(changed, read=("app",))[0].profiles == {("default", ("other",)): 1}


def test_labels_of_nodes_are_seen_as_they_are() -> None:
    """A changed label makes another piece."""
    held(*WEB)
    moved = msgspec.structs.replace(NODES[0], labels={**NODES[0].labels, "zone": "z"})
    assert held(*WEB, nodes=(moved, NODES[1]))[0].labels["zone"] == "z"


def test_when_other_labels_are_read_all_pods_are_looked_at_again() -> None:
    """What selectors can see of a pod depends on all selectors."""
    assert held(*WEB)[0].profiles == {("default", ()): 2}
    assert held(*WEB, read=("app",))[0].profiles == {("default", ("web",)): 2}


def test_who_ends_or_goes_counts_for_no_term() -> None:
    """But still takes room."""
    ended = msgspec.structs.replace(WEB[0], phase="Succeeded")
    first, _ = held(ended)
    assert (first.profiles, first.use["cpu"]) == ({}, 500)


def test_daemon_pods_ports_and_shyness_are_noted() -> None:
    """For those who ask about them."""
    agent = pod("agent-1", node="a", owner="DaemonSet/agent", host_ports=[80])
    shy = pod("shy", node="a", labels={"app": "shy"}, anti_affinity=[{"topology_key": "zone"}])
    first, _ = held(agent, shy)
    assert first.daemons == (("default", "agent"),)
    assert first.ports == (agent.spec,)
    assert first.shy == ((shy, 1),)
    assert first.read == {"app"}
