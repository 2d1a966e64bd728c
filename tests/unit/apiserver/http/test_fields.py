"""Fields that are there by mistake are found, by the schema of their kind."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.apiserver.http.fields import sift, undeclared_error
from dovetail.apiserver.http.kinds import OFFERED, Offered
from dovetail.kube.errors import InvalidError
from tests.conformance.kube.objects import deployment, node_pool


def offered(name: str) -> Offered:
    """A kind as it is served."""
    return next(one for one in OFFERED if one.kind.name == name)


def test_an_object_without_mistakes_stays_as_it_is() -> None:
    """Every field of it."""
    for name, tree in (("Deployment", deployment("a")), ("NodePool", node_pool("a"))):
        found = sift(tree, offered(name))
        assert (found.tree, found.unknown) == (tree, ())


def test_unknown_fields_go_and_are_named() -> None:
    """Also those of items of lists; free maps know every key."""
    tree: dict[str, Any] = deployment("a")
    tree["spec"] = {"replica": 1, **tree["spec"]}
    tree["spec"]["template"]["spec"]["containers"][0]["imagePolicy"] = "Always"
    tree["metadata"]["labels"] = {"whatever": "yes"}
    found = sift(tree, offered("Deployment"))
    assert found.unknown == ("spec.replica", "spec.template.spec.containers[0].imagePolicy")
    want = deployment("a")
    want["metadata"]["labels"] = {"whatever": "yes"}
    assert found.tree == want


def test_a_value_of_another_type_is_refused() -> None:
    """With the field and both types."""
    tree: dict[str, Any] = deployment("a")
    tree["spec"]["replicas"] = "two"
    with pytest.raises(InvalidError, match=r"string into .*spec\.replicas of type int32"):
        sift(tree, offered("Deployment"))


def test_directives_of_a_patch_are_no_fields() -> None:
    """They say how to merge."""
    patch: dict[str, Any] = {"spec": {"$retainKeys": ["replicas"], "replicas": None}}
    assert sift(patch, offered("Deployment")).tree == patch


def test_an_apply_is_refused_for_each_mistake() -> None:
    """Unknown fields and wrong types alike."""
    tree: dict[str, Any] = {"spec": {"weight": "heavy", "colour": "blue"}}
    refusal = undeclared_error("/a", tree, offered("NodePool"))
    assert refusal is not None
    assert ".spec.colour: field not declared in schema" in str(refusal)
    assert ".spec.weight: expected numeric (int or float), got string" in str(refusal)
    assert undeclared_error("/a", node_pool("a"), offered("NodePool")) is None
