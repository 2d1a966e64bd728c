"""Finds what is wrong with an EC2NodeClass beyond what its definition can say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail import api
from dovetail.providers.aws.node_class.kubelet import KubeletError, check_family, parse_kubelet
from dovetail.providers.aws.node_class.types import FAMILIES, EC2NodeClass, EC2NodeClassSpec

_FAMILIES_BY_ALIAS: Final = {family.lower(): family for family in FAMILIES}


def resolved_family(spec: EC2NodeClassSpec) -> str:
    """The AMI family: `amiFamily`, else that of the alias, else Custom."""
    if spec.ami_family:
        return spec.ami_family
    alias = next((term.alias for term in spec.ami_selector_terms if term.alias), "")
    return _FAMILIES_BY_ALIAS.get(alias.partition("@")[0], "Custom")


def node_class_problems(node_class: api.Object) -> Iterator[api.FieldProblem]:
    """Kubelet settings that no kubelet, or not this AMI family, would take.

    Expressions are compiled as if the gate NodeClassCEL were on; the status of a class says
    whether it is.
    """
    if not isinstance(node_class, EC2NodeClass):
        return
    try:
        check_family(parse_kubelet(node_class.spec.kubelet), resolved_family(node_class.spec))
    except KubeletError as error:
        yield api.FieldProblem(f"spec.kubelet.{error.field}", error.message)
