"""Paths and queries as the API server expects them."""

from __future__ import annotations

from dovetail.kube.http import client
from dovetail.kube.seam import Patch, PatchType, Ref, Scope
from tests.unit.kube.http.servers import CLAIMS, NODES, PODS


def test_the_core_group_lives_under_api_and_the_others_under_apis() -> None:
    """The oldest kinds have no group."""
    assert client.collection(PODS) == "/api/v1/pods"
    assert client.collection(PODS, "shop") == "/api/v1/namespaces/shop/pods"
    assert client.collection(CLAIMS) == "/apis/karpenter.sh/v1/nodeclaims"


def test_a_kind_without_namespaces_has_none_in_its_path() -> None:
    """Whatever the caller says."""
    assert client.single(Ref(NODES, "n1", "shop"), "status") == "/api/v1/nodes/n1/status"


def test_names_cannot_leave_their_segment() -> None:
    """A name is never a path."""
    assert client.single(Ref(PODS, "../x?y", "a b")) == "/api/v1/namespaces/a%20b/pods/..%2Fx%3Fy"


def test_a_page_is_asked_for_with_selectors_limit_and_token() -> None:
    """Empty parameters are left out."""
    scope = Scope(PODS, labels="app in (a,b)", fields="spec.nodeName=")
    assert client.listing(Scope(PODS), limit=0, token="") == "/api/v1/pods"
    token = "a+b="  # noqa: S105  of a page, not a secret
    assert client.listing(scope, limit=500, token=token) == (
        "/api/v1/pods?labelSelector=app%20in%20%28a%2Cb%29&fieldSelector=spec.nodeName%3D"
        "&limit=500&continue=a%2Bb%3D"
    )


def test_a_watch_says_since_when_asks_for_bookmarks_and_ends_by_itself() -> None:
    """So that a client that went away does not stay a watcher."""
    assert client.watching(Scope(NODES), since="7", timeout_seconds=300) == (
        "/api/v1/nodes?watch=1&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=300"
    )


def test_only_an_apply_patch_can_be_forced() -> None:
    """The server refuses `force` with every other type."""
    forced = Patch({}, PatchType.APPLY, subresource="status", manager="me", force=True)
    ref = Ref(NODES, "n1")
    assert client.patching(ref, forced) == "/api/v1/nodes/n1/status?fieldManager=me&force=true"
    merged = Patch({}, force=True)
    assert client.patching(ref, merged) == "/api/v1/nodes/n1?fieldManager=dovetail"
