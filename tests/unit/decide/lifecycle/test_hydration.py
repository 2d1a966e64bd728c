from __future__ import annotations

import pytest

from dovetail.decide.lifecycle.claim import (
    hydration_step,
    is_managed,
    is_managed_node,
    nodes_of,
)
from dovetail.decide.lifecycle.step import STAY, ClaimPatch, NodePatch, Step, view_after
from dovetail.model.pool import NodeClassRef
from tests.unit.decide.lifecycle.claims import KWOK, NOW, claim, launched, node, view

MARK = {"karpenter.kwok.sh/kwoknodeclass": "default"}


def test_claims_and_nodes_get_the_label_of_their_node_class() -> None:
    """Once."""
    seen = view(launched(), node())
    step = hydration_step(seen, NOW)
    want = Step(claims=(ClaimPatch("one", labels=MARK),), nodes=(NodePatch("n1", labels=MARK),))
    assert step == want
    after = view_after(seen, step, NOW)
    assert hydration_step(after, NOW) == STAY


def test_a_long_name_is_cut_to_what_a_label_holds() -> None:
    """The key is what counts."""
    named = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "a" * 62 + ".b")
    step = hydration_step(view(claim(node_class=named)), NOW)
    assert step.claims[0].labels == {"karpenter.kwok.sh/kwoknodeclass": "a" * 62}


def test_a_claim_without_a_node_class_gets_no_label() -> None:
    """There is no name for it."""
    assert hydration_step(view(claim(node_class=NodeClassRef())), NOW) == STAY


@pytest.mark.parametrize(
    ("supported", "want"),
    [
        pytest.param((NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass"),), True, id="its kind"),
        pytest.param((NodeClassRef("karpenter.kwok.sh", "Other"),), False, id="another kind"),
        pytest.param((NodeClassRef("other", "KWOKNodeClass"),), False, id="another group"),
        pytest.param((), False, id="none"),
    ],
)
def test_what_the_provider_cannot_launch_is_not_managed(
    supported: tuple[NodeClassRef, ...],
    want: bool,  # noqa: FBT001  a column of the table
) -> None:
    """Claims and pools by their node class, Nodes by its label."""
    assert is_managed(KWOK, supported) is want
    assert is_managed_node(node(labels=MARK), supported) is want
    assert not is_managed_node(node(), supported)


def test_a_claim_finds_its_nodes_by_provider_id() -> None:
    """An empty id matches nobody."""
    ours, other = launched(), claim()
    assert nodes_of(ours, (node(), node(provider_id="x"))) == (node(),)
    assert nodes_of(other, (node(provider_id=""),)) == ()
