"""The permissions are those that the provider's code needs, and no others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from botocore import xform_name
from botocore.loaders import Loader
from botocore.model import ServiceModel

import dovetail.providers.aws
from dovetail.providers.aws.installation.parameters import Installation
from dovetail.providers.aws.installation.permissions import (
    OPERATION_BY_PERMISSION,
    PERMISSION_BY_OPERATION,
    PERMISSIONS,
    POLICIES,
    Permission,
    optional_permissions,
)
from dovetail.providers.aws.installation.policy_json import policy_json

SOURCE = Path(dovetail.providers.aws.__file__).parent
SERVICES = ("arc-zonal-shift", "ec2", "eks", "iam", "pricing", "sqs", "ssm")
# How the code names its clients.
CLIENTS = {
    "arc": "arc-zonal-shift",
    "ec2": "ec2",
    "once": "ec2",
    "ec2_once": "ec2",
    "eks": "eks",
    "iam": "iam",
    "pricing": "pricing",
    "sqs": "sqs",
    "ssm": "ssm",
    "zonal_shift": "arc-zonal-shift",
}
ALLOWED = {action for permission in PERMISSIONS for action in permission.actions}


def operations(service: str) -> dict[str, str]:
    """Every operation of a service, by the name of its method."""
    model = ServiceModel(Loader().load_service_model(service, "service-2"), service)
    return {xform_name(name): name for name in model.operation_names}


def trees() -> Iterator[ast.AST]:
    """The modules of the provider that may call AWS: all but those of the policies."""
    for path in sorted(SOURCE.rglob("*.py")):
        if path.parent.name == "installation":
            continue
        yield ast.parse(path.read_text(encoding="utf-8"))


def client(node: ast.expr) -> str:
    """The service of a client, such as `self._ec2`; empty for anything else."""
    name = ""
    if isinstance(node, ast.Attribute):
        name = node.attr
    elif isinstance(node, ast.Name):
        name = node.id
    return CLIENTS.get(name.removeprefix("_"), "")


def methods() -> Iterator[tuple[str, str]]:
    """Every method of a client that the code uses, as service and method."""
    for tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and client(node.value):
                yield client(node.value), node.attr
    yield from paginated()


def paginated() -> Iterator[tuple[str, str]]:
    """Every method that is called by its paginator."""
    for tree in trees():
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=value, attr="get_paginator"),
                    args=[ast.Constant(value=str(method))],
                ):
                    service = client(value)
                    assert service, ast.dump(value)
                    yield service, method


def called() -> set[str]:
    """Every operation that the code calls, as a permission writes it."""
    known = {service: operations(service) for service in SERVICES}
    return {
        f"{service}:{known[service][method]}"
        for service, method in methods()
        if method != "get_paginator"
    }


def test_every_call_has_a_permission_and_every_permission_a_call() -> None:
    """The code that calls AWS is read: what it calls is what the policies allow."""
    calls = called()
    needed = {PERMISSION_BY_OPERATION.get(call, call) for call in calls}
    assert len(needed) > 25
    implied = {name for name, by in OPERATION_BY_PERMISSION.items() if calls & set(by)}
    assert needed | implied == ALLOWED


def test_calls_by_paginators_are_seen() -> None:
    """Every list that is read in pages is known to the test above."""
    assert {"ec2:DescribeInstances", "iam:ListInstanceProfiles"} <= called()
    assert len(set(paginated())) > 8


def test_every_remedy_names_a_permission_that_there_is() -> None:
    """A call that is denied is reported with the permission that it needs."""
    names = {
        node.value
        for tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.partition(":")[0] in SERVICES
        and node.value.partition(":")[2][:1].isupper()
        and node.value.partition(":")[2].isalnum()
    }
    assert len(names) > 25
    assert names <= ALLOWED


def test_no_permission_is_a_pattern() -> None:
    """Each is an action that AWS has; only those without a method have no operation."""
    known = {f"{service}:{name}" for service in SERVICES for name in operations(service).values()}
    assert ALLOWED - known == {"iam:PassRole"}


@pytest.mark.parametrize("permission", PERMISSIONS, ids=lambda permission: permission.name)
def test_what_is_not_limited_to_a_resource_is_read_only(permission: Permission) -> None:
    """A write names resources, and those that exist or are made belong to the cluster by tags."""
    writes = [one for one in permission.actions if not one.partition(":")[2].startswith(READS)]
    tags = [one for one in permission.conditions if "cluster/{cluster}" in one.key]
    is_limited = bool(tags) or permission.name in LIMITED_OTHERWISE
    assert not writes or (is_limited and "*" not in permission.resources)


READS = ("Describe", "Get", "List", "ReceiveMessage")
# By the queue, by the node role, or by the permission for the template and the instance beside it.
LIMITED_OTHERWISE = {"ReadTheQueue", "PassTheNodeRole", "LaunchWithResourcesOfTheAccount"}


def test_the_policies_fit_into_iam() -> None:
    """IAM takes 6,144 characters of a policy, white space left out."""
    installation = Installation(
        cluster="c" * 100,
        region="ap-southeast-1",
        account="123456789012",
        queue="q" * 80,
        node_role="r" * 64,
        image_parameters=("/team/images/*",),
        more_node_roles=("gpu", "windows"),
        namespace="dovetail",
        service_account="dovetail",
    )
    tree = msgspec.json.decode(policy_json(installation), type=dict[str, msgspec.Raw])
    documents = msgspec.json.decode(tree["policies"], type=dict[str, object])
    sizes = {name: len(msgspec.json.encode(policy)) for name, policy in documents.items()}
    assert set(sizes) == set(POLICIES)
    assert [name for name, size in sizes.items() if size > 6144] == []


def test_names_of_statements_and_policies_are_sound() -> None:
    """A Sid has letters and digits alone, and no two have the same."""
    names = [permission.name for permission in PERMISSIONS]
    assert len(set(names)) == len(names)
    assert all(name.isalnum() for name in names)
    assert {permission.policy for permission in PERMISSIONS} == set(POLICIES)


def test_own_parameters_and_further_roles_are_allowed_only_if_they_are_named() -> None:
    """By path and by name."""
    assert optional_permissions(image_parameters=(), node_roles=()) == ()
    images, roles = optional_permissions(image_parameters=("/team/*",), node_roles=("gpu",))
    assert images.resources == ("arn:{partition}:ssm:{region}:{account}:parameter/team/*",)
    assert roles.resources == ("arn:{partition}:iam::{account}:role/gpu",)
    assert [condition.key for condition in roles.conditions] == ["iam:PassedToService"]
