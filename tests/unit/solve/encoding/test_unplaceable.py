from __future__ import annotations

import numpy as np

from dovetail.model.pod import Pod
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.minvalues import hold_min_values
from dovetail.solve.encoding.unplaceable import without_a_choice, without_a_place
from dovetail.solve.program.pod_worth import takes
from dovetail.testing.builders import instance_type, node, node_pool, pod
from tests.unit.solve.puzzles import encoded

LEFT = instance_type("left", cpu=2, memory="8Gi", price=0.1, zones=("a",), arch="amd64")
RIGHT = instance_type("right", cpu=4, memory="16Gi", price=0.2, zones=("a",), arch="arm64")
PICKY = pod(
    "picky",
    node_selector={"arch": "amd64"},
    spread=[{"topology_key": "zone", "selector": {"app": "web"}}],
)
WEB = pod("web", labels={"app": "web"})


def insistent(*pods: Pod, **parts: object) -> Encoded:
    """Pods and one pool that insists on two instance types, as arrays."""
    said = [{"requirement": "instance-type Exists", "min_values": 2}]
    return encoded(pods, LEFT, RIGHT, **{"node_pools": (node_pool(requirements=said),), **parts})


def names(enc: Encoded, groups: list[int]) -> list[str]:
    """The pods of some groups."""
    return [one.name for group in groups for one in enc.groups[group].pods]


def ruled_out(enc: Encoded) -> list[str]:
    """The pods that minValues leave without a place."""
    held = hold_min_values(enc)
    fits = takes(held, np.arange(len(held.groups)), np.arange(held.n_offers))
    return names(enc, without_a_choice(enc, fits))


def test_a_pod_larger_than_everything_has_no_place() -> None:
    """Unless an existing node is large enough."""
    pods = (pod("huge", cpu=100), pod("small"))
    for nodes, want in (((), ["huge"]), ((node("there", cpu=200, memory="8Gi"),), [])):
        enc = insistent(*pods, nodes=nodes)
        fits = takes(enc, np.arange(2), np.arange(enc.n_offers))
        assert names(enc, without_a_place(enc, fits)) == want


def test_a_pod_that_too_few_types_hold_has_no_choice() -> None:
    """The other pod has one, though the spread of the first divides the offers in two."""
    assert ruled_out(insistent(PICKY, WEB)) == ["picky"]


def test_a_pool_without_min_values_leaves_every_choice() -> None:
    """One type is enough there."""
    assert ruled_out(insistent(PICKY, WEB, node_pools=(node_pool(),))) == []
