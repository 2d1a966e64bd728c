"""Builds the policy documents of the controller and the trust of its role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from dovetail.providers.aws.installation.parameters import Installation
from dovetail.providers.aws.installation.permissions import (
    PERMISSIONS,
    POLICIES,
    Permission,
    PolicyCondition,
    optional_permissions,
)

Document = None | bool | int | float | str | list["Document"] | dict[str, "Document"]
Tree = dict[str, Document]
VERSION: Final = "2012-10-17"
NODE_POLICIES: Final = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
)


def policy_documents(installation: Installation) -> dict[str, Tree]:
    """The policies of the controller's role, by name; names in braces are not yet filled in."""
    optional = optional_permissions(
        image_parameters=installation.image_parameters, node_roles=installation.more_node_roles
    )
    table = (*PERMISSIONS, *optional)
    return {
        policy: document([_statement(row) for row in table if row.policy == policy])
        for policy in POLICIES
    }


def document(statements: Iterable[Tree]) -> Tree:
    """A policy document."""
    return {"Version": VERSION, "Statement": [*statements]}


def node_trust() -> Tree:
    """Who may use the role of nodes: EC2."""
    return document([_assumable({"Service": ["ec2.{dns_suffix}"]}, ["sts:AssumeRole"], {})])


def controller_trust(installation: Installation) -> Tree:
    """Who may use the role of the controller: its service account."""
    issuer = installation.oidc_provider
    if not issuer:
        principal: Tree = {"Service": ["pods.eks.amazonaws.com"]}
        return document([_assumable(principal, ["sts:AssumeRole", "sts:TagSession"], {})])
    account = f"system:serviceaccount:{installation.namespace}:{installation.service_account}"
    provider: Tree = {"Federated": f"arn:{{partition}}:iam::{{account}}:oidc-provider/{issuer}"}
    only: Tree = {
        "StringEquals": {f"{issuer}:aud": "sts.amazonaws.com", f"{issuer}:sub": account},
    }
    return document([_assumable(provider, ["sts:AssumeRoleWithWebIdentity"], {"Condition": only})])


def filled_in(part: Document, names: Mapping[str, str]) -> Document:
    """A document with its names in braces replaced, in keys and in values."""
    match part:
        case str():
            return _text(part, names)
        case list():
            return [filled_in(item, names) for item in part]
        case dict():
            return {_text(key, names): filled_in(value, names) for key, value in part.items()}
        case _:
            return part


def _text(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _statement(permission: Permission) -> Tree:
    statement: Tree = {
        "Sid": permission.name,
        "Effect": "Allow",
        "Action": [*permission.actions],
        "Resource": [*permission.resources],
    }
    if permission.conditions:
        statement["Condition"] = _conditions(permission.conditions)
    return statement


def _conditions(conditions: Iterable[PolicyCondition]) -> Tree:
    operators: dict[str, Tree] = {}
    for condition in conditions:
        operators.setdefault(condition.operator, {})[condition.key] = [*condition.values]
    return dict(operators)


def _assumable(principal: Tree, actions: list[Document], more: Tree) -> Tree:
    return {"Effect": "Allow", "Principal": principal, "Action": actions, **more}
