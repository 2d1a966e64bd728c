"""Renders what the account needs as a CloudFormation template."""

from __future__ import annotations

from typing import Final

from dovetail.api.crds import stream
from dovetail.providers.aws.installation.parameters import Installation
from dovetail.providers.aws.installation.policies import (
    NODE_POLICIES,
    Document,
    Tree,
    controller_trust,
    filled_in,
    node_trust,
    policy_documents,
)
from dovetail.providers.aws.installation.queue import RETENTION_SECONDS, RULES, queue_policy

_PSEUDO: Final = "${AWS::"


def cloudformation(installation: Installation) -> str:
    """The template as YAML. CloudFormation itself knows region, account and partition."""
    resources: Tree = {
        **_node_role(installation),
        **_controller_role(installation),
        **_queue(installation),
    }
    template: Tree = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"What Dovetail needs to launch nodes of cluster {installation.cluster}",
        "Resources": resources,
        "Outputs": {
            "ControllerRoleArn": {"Value": _attribute("ControllerRole", "Arn")},
            "NodeRoleName": {"Value": _reference("NodeRole")},
            "InterruptionQueueName": {"Value": _attribute("InterruptionQueue", "QueueName")},
        },
    }
    return stream((template,))


def _node_role(installation: Installation) -> Tree:
    role: Tree = {
        "RoleName": installation.node_role,
        "AssumeRolePolicyDocument": _written(node_trust(), installation),
        "ManagedPolicyArns": [
            {"Fn::Sub": f"arn:${{AWS::Partition}}:iam::aws:policy/{name}"} for name in NODE_POLICIES
        ],
    }
    access: Tree = {
        "ClusterName": installation.cluster,
        "PrincipalArn": _attribute("NodeRole", "Arn"),
        "Type": "EC2_LINUX",
    }
    return {
        "NodeRole": _resource("AWS::IAM::Role", role),
        "NodeAccess": _resource("AWS::EKS::AccessEntry", access),
    }


def _controller_role(installation: Installation) -> Tree:
    documents = policy_documents(installation)
    resources: Tree = {
        f"{name}Policy": _resource(
            "AWS::IAM::ManagedPolicy",
            {
                "ManagedPolicyName": f"Dovetail{name}-{installation.cluster}",
                "PolicyDocument": _written(policy, installation),
            },
        )
        for name, policy in documents.items()
    }
    role: Tree = {
        "RoleName": installation.controller_role,
        "AssumeRolePolicyDocument": _written(controller_trust(installation), installation),
        "ManagedPolicyArns": [_reference(f"{name}Policy") for name in documents],
    }
    resources["ControllerRole"] = _resource("AWS::IAM::Role", role)
    if not installation.oidc_provider:
        association: Tree = {
            "ClusterName": installation.cluster,
            "Namespace": installation.namespace,
            "ServiceAccount": installation.service_account,
            "RoleArn": _attribute("ControllerRole", "Arn"),
        }
        resources["PodIdentity"] = _resource("AWS::EKS::PodIdentityAssociation", association)
    return resources


def _queue(installation: Installation) -> Tree:
    queue: Tree = {
        "QueueName": installation.queue,
        "MessageRetentionPeriod": RETENTION_SECONDS,
        "SqsManagedSseEnabled": True,
    }
    target: Tree = {"Id": "InterruptionQueue", "Arn": _attribute("InterruptionQueue", "Arn")}
    rules: Tree = {
        f"{rule.name}Rule": _resource(
            "AWS::Events::Rule",
            {"Description": rule.about, "EventPattern": rule.pattern(), "Targets": [target]},
        )
        for rule in RULES
    }
    policy = queue_policy(
        _attribute("InterruptionQueue", "Arn"), [_attribute(name, "Arn") for name in rules]
    )
    allowed: Tree = {"Queues": [_reference("InterruptionQueue")], "PolicyDocument": policy}
    return {
        "InterruptionQueue": _resource("AWS::SQS::Queue", queue),
        **rules,
        "InterruptionQueuePolicy": _resource("AWS::SQS::QueuePolicy", allowed),
    }


def _resource(kind: str, properties: Tree) -> Tree:
    return {"Type": kind, "Properties": properties}


def _reference(name: str) -> Tree:
    return {"Ref": name}


def _attribute(name: str, attribute: str) -> Tree:
    return {"Fn::GetAtt": [name, attribute]}


def _written(document: Document, installation: Installation) -> Document:
    """A document with the names of this cluster, and with functions for those of the account."""
    names = {
        "cluster": installation.cluster,
        "queue": installation.queue,
        "node_role": installation.node_role,
        "partition": "${AWS::Partition}",
        "dns_suffix": "${AWS::URLSuffix}",
        "region": "${AWS::Region}",
        "account": "${AWS::AccountId}",
    }
    return _with_functions(filled_in(document, names))


def _with_functions(part: Document) -> Document:
    match part:
        case str():
            return {"Fn::Sub": part} if _PSEUDO in part else part
        case list():
            return [_with_functions(item) for item in part]
        case dict():
            return {key: _with_functions(value) for key, value in part.items()}
        case _:
            return part
