"""What one types is found, and what is nearly right is named."""

from __future__ import annotations

import pytest

from dovetail.errors import InputError
from dovetail.model.node import Node
from dovetail.present.lookup import LookupSubject, SubjectKind, find_node, find_pod, subject
from dovetail.testing import pod, snapshot

CLUSTER = snapshot(
    pods=(pod("web-0"), pod("web-1"), pod("web-0", namespace="shop"), pod("db", namespace="shop")),
    nodes=(Node("ip-10-0-0-1", node_claim="general-7f"), Node("theirs")),
)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("pod/a", LookupSubject(SubjectKind.POD, "a"), id="a pod"),
        pytest.param(
            "po/shop/a", LookupSubject(SubjectKind.POD, "a", "shop"), id="with its namespace"
        ),
        pytest.param("Node/a", LookupSubject(SubjectKind.NODE, "a"), id="a node"),
        pytest.param("nodeclaims/a", LookupSubject(SubjectKind.NODE_CLAIM, "a"), id="a claim"),
        pytest.param("nodepool/a", LookupSubject(SubjectKind.NODE_POOL, "a"), id="a pool"),
    ],
)
def test_a_kind_and_a_name_say_what_is_meant(text: str, want: LookupSubject) -> None:
    """In the spellings that kubectl takes."""
    assert subject(text) == want


@pytest.mark.parametrize("text", ["", "a", "node/", "deployment/a", "node/a/b", "pod/a/b/c"])
def test_anything_else_is_refused_with_what_was_expected(text: str) -> None:
    """And with what was said."""
    with pytest.raises(
        InputError, match=r"expected pod/NAME, node/NAME, nodeclaim/NAME or"
    ) as said:
        subject(text)
    assert repr(text) in str(said.value)


def test_nodes_are_found_by_their_name_and_by_their_claims() -> None:
    """Each under its kind."""
    assert find_node(subject("node/theirs"), CLUSTER).name == "theirs"
    assert find_node(subject("nodeclaim/general-7f"), CLUSTER).name == "ip-10-0-0-1"


def test_pods_are_found_in_any_namespace_or_in_one() -> None:
    """As long as it is clear which is meant."""
    assert find_pod(subject("pod/db"), CLUSTER).key == "shop/db"
    assert find_pod(subject("pod/web-0", "shop"), CLUSTER).key == "shop/web-0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("node/ip-10-0-0-2", "did you mean ip-10-0-0-1?", id="nearly right"),
        pytest.param("node/zzz", "it has ip-10-0-0-1, theirs", id="not even nearly"),
        pytest.param("node/general-7f", "say nodeclaim/general-7f", id="the other kind"),
        pytest.param("nodeclaim/theirs", "say node/theirs", id="and the other way round"),
        pytest.param("nodeclaim/general-8f", "did you mean general-7f?", id="a claim"),
        pytest.param("pod/web-0", "say pod/default/web-0 or pod/shop/web-0", id="two of a name"),
        pytest.param("pod/web-2", "did you mean default/web-1", id="a pod"),
        pytest.param("pod/shop/web-7", "did you mean shop/web-0", id="a pod of a namespace"),
    ],
)
def test_what_is_not_there_is_said_with_what_might_be_meant(text: str, said: str) -> None:
    """In one sentence."""
    asked = subject(text)
    with pytest.raises(InputError) as refused:
        find_pod(asked, CLUSTER) if asked.kind is SubjectKind.POD else find_node(asked, CLUSTER)
    assert said in str(refused.value)


def test_where_there_is_none_of_a_kind_that_is_said() -> None:
    """Perhaps the wrong file was read."""
    with pytest.raises(InputError, match=r"the input has no Nodes"):
        find_node(subject("node/a"), snapshot())
