"""What is allowed in manifests and probably not meant."""

from __future__ import annotations

import msgspec

from dovetail import api
from dovetail.present.manifest_warnings import PlacedObject, missing_node_classes
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.kwok.node_class import KWOKNodeClass


def pool(kind: str, name: str) -> PlacedObject:
    """A pool with this node class."""
    ref = api.karpenter.NodeClassReference(group="karpenter.k8s.aws", kind=kind, name=name)
    template = api.karpenter.NodeClaimTemplate(
        spec=api.karpenter.NodeClaimTemplateSpec(node_class_ref=ref, requirements=())
    )
    spec = api.karpenter.NodePoolSpec(template=template)
    return "a.yaml", api.NodePool(metadata=api.ObjectMeta(name="web"), spec=spec)


def node_class(name: str) -> PlacedObject:
    """An EC2NodeClass."""
    found = EC2NodeClass(metadata=api.ObjectMeta(name=name))
    return "b.yaml", msgspec.structs.replace(found, kind="EC2NodeClass")


def test_a_class_that_is_missing_among_others_of_its_kind_is_a_slip() -> None:
    """The warning names those that there are."""
    (got,) = missing_node_classes([pool("EC2NodeClass", "defualt"), node_class("default")])
    assert got == (
        "warning: a.yaml: NodePool web: spec.template.spec.nodeClassRef.name: "
        "there is no EC2NodeClass 'defualt' here; expected default"
    )


def test_a_class_that_is_there_or_whose_kind_is_not_is_none() -> None:
    """Manifests need not have any classes."""
    here = [pool("EC2NodeClass", "default"), node_class("default")]
    elsewhere = [
        pool("EC2NodeClass", "default"),
        ("c.yaml", KWOKNodeClass(metadata=api.ObjectMeta(name="other"), kind="KWOKNodeClass")),
    ]
    assert [*missing_node_classes(here), *missing_node_classes(elsewhere)] == []
