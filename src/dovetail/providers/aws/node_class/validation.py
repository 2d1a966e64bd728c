"""Finds what is wrong with an EC2NodeClass beyond what its definition can say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail import api
from dovetail.providers.aws.bootstrap.families import Family
from dovetail.providers.aws.bootstrap.inputs import BootstrapInputs, UserDataError
from dovetail.providers.aws.bootstrap.user_data import SIZE_LIMIT, user_data, user_data_size
from dovetail.providers.aws.node_class.kubelet import (
    KubeletError,
    ResolvedKubelet,
    check_family,
    parse_kubelet,
)
from dovetail.providers.aws.node_class.types import FAMILIES, EC2NodeClass, EC2NodeClassSpec

_FAMILIES_BY_ALIAS: Final = {family.lower(): family for family in FAMILIES}


def resolved_family(spec: EC2NodeClassSpec) -> str:
    """The AMI family: `amiFamily`, else that of the alias, else Custom."""
    if spec.ami_family:
        return spec.ami_family
    alias = next((term.alias for term in spec.ami_selector_terms if term.alias), "")
    return _FAMILIES_BY_ALIAS.get(alias.partition("@")[0], "Custom")


def node_class_problems(node_class: api.Object) -> Iterator[api.FieldProblem]:
    """Kubelet settings that no kubelet, or not this AMI family, would take, and user data that does
    not have the format of the family or is too long.

    Expressions are compiled as if the gate NodeClassCEL were on; the status of a class says
    whether it is.
    """
    if not isinstance(node_class, EC2NodeClass):
        return
    try:
        check_family(parse_kubelet(node_class.spec.kubelet), resolved_family(node_class.spec))
    except KubeletError as error:
        yield api.FieldProblem(f"spec.kubelet.{error.field}", error.message)
    yield from _user_data_problems(node_class.spec)


def _user_data_problems(spec: EC2NodeClassSpec) -> Iterator[api.FieldProblem]:
    if not spec.user_data:
        return
    # What makes a node join has at least this length, whatever the cluster.
    least = BootstrapInputs(
        cluster_name="c",
        cluster_endpoint="https://c",
        ca_bundle="Y2E=",
        cluster_cidr="10.0.0.0/8",
        kubelet=ResolvedKubelet(),
        instance_store_policy=spec.instance_store_policy,
        ami_selector_terms=spec.ami_selector_terms,
        custom=spec.user_data,
    )
    try:
        size = user_data_size(user_data(Family(resolved_family(spec)), least))
    except UserDataError as error:
        yield api.FieldProblem(error.field, error.message)
        return
    if size.exceeds_limit:
        message = (
            f"with what makes nodes join it is {size.n_bytes} bytes or more; expected at most "
            f"{SIZE_LIMIT}"
        )
        yield api.FieldProblem("spec.userData", message)
