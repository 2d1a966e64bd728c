from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.decide.lifecycle import registration
from dovetail.decide.lifecycle.conditions import INITIALIZED, hold
from dovetail.decide.lifecycle.step import STAY, Milestone, Step, claim_with, node_after
from dovetail.model.claim import DeviceSlice, NodeObject
from dovetail.model.node import Condition
from dovetail.model.taints import Taint
from tests.unit.decide.lifecycle.claims import (
    NOW,
    initialized,
    launched,
    node,
    registered,
    said_of,
    view,
)

CNI = Taint("cni/starting", "x")
CLAIM = registered(
    requests={"cpu": 1000, "gpu": 1, "nothing": 0},
    startup_taints=(Taint("cni/starting"),),
    annotations={labels.REQUESTED_DRA_DRIVERS: "a.example, b.example"},
)
WHOLE = {"cpu": 4000, "gpu": 1}
SLICES = (DeviceSlice("a.example", "p"), DeviceSlice("b.example", "p"))


@pytest.mark.parametrize(
    ("seen", "want_reason", "want_words"),
    [
        pytest.param((), "NodeNotFound", "", id="its Node has gone"),
        pytest.param((node(), node(name="n2")), "NodeNotFound", "", id="two Nodes"),
        pytest.param((node(conditions=()),), "NodeNotReady", "Unknown", id="no word yet"),
        pytest.param(
            (node(conditions=(Condition("Ready", "False"),)),),
            "NodeNotReady",
            "Ready=False",
            id="not ready",
        ),
        pytest.param(
            (node(taints=(CNI,)),), "StartupTaintsExist", "cni/starting=x", id="startup taint"
        ),
        pytest.param(
            (node(taints=(Taint("readiness.k8s.io/net"),)),),
            "KnownEphemeralTaintsExist",
            "readiness.k8s.io/net",
            id="ephemeral taint",
        ),
        pytest.param(
            (node(allocatable={"cpu": 1, "gpu": 0}),),
            "ResourceNotRegistered",
            "report gpu yet",
            id="a resource is missing",
        ),
        pytest.param(
            (node(allocatable=WHOLE),),
            "DRADriverPoolsNotPublished",
            "a.example, b.example",
            id="no devices",
        ),
    ],
)
def test_a_node_is_not_initialized_until_nothing_is_wanting(
    seen: tuple[NodeObject, ...], want_reason: str, want_words: str
) -> None:
    """The first thing that is wanting is named."""
    step = registration.initialization_step(view(CLAIM, *seen), NOW)
    said = said_of(claim_with(CLAIM, step, NOW), INITIALIZED)
    assert (said.status, said.reason) == ("Unknown", want_reason)
    assert want_words in said.message
    assert step.nodes == ()


def test_a_node_with_everything_is_initialized() -> None:
    """The Node carries the label, the claim the condition."""
    ready = node(allocatable=WHOLE)
    step = registration.initialization_step(view(CLAIM, ready, slices=SLICES), NOW)
    assert node_after(ready, step.nodes).labels == {"karpenter.sh/initialized": "true"}
    assert step.conditions == (hold(INITIALIZED),)
    assert step.milestones == (Milestone.NODE_INITIALIZED,)


def test_a_claim_that_has_not_registered_is_not_looked_at() -> None:
    """First things first."""
    assert registration.initialization_step(view(launched(), node()), NOW) == STAY


def test_what_was_initialized_once_stays_so() -> None:
    """Even if the Node is no longer ready."""
    step = registration.initialization_step(view(initialized(), node(conditions=())), NOW)
    assert step == Step(conditions=(hold(INITIALIZED),))


@pytest.mark.parametrize(
    ("slices", "want"),
    [
        pytest.param((DeviceSlice("d", "p", n_slices=2),), set(), id="half a pool"),
        pytest.param((DeviceSlice("d", "p", n_slices=2),) * 2, {"d"}, id="a whole pool"),
        pytest.param(
            (DeviceSlice("d", "p", 1), DeviceSlice("d", "p", 2, n_slices=2)),
            set(),
            id="only the highest generation counts",
        ),
        pytest.param(
            (DeviceSlice("d", "p", n_slices=2), DeviceSlice("d", "q")),
            {"d"},
            id="one complete pool is enough",
        ),
    ],
)
def test_a_driver_has_published_once_one_of_its_pools_is_complete(
    slices: tuple[DeviceSlice, ...], want: set[str]
) -> None:
    """At the pool's highest generation."""
    assert registration.publishing_drivers(slices) == want
