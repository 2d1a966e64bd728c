"""Renders what the account needs as a Terraform module in one file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from dovetail.providers.aws.installation.hcl import HclBlock, Raw, encoded, written
from dovetail.providers.aws.installation.parameters import Installation
from dovetail.providers.aws.installation.policies import (
    NODE_POLICIES,
    Document,
    controller_trust,
    filled_in,
    node_trust,
    policy_documents,
)
from dovetail.providers.aws.installation.queue import RETENTION_SECONDS, RULES, queue_policy

_NAMES: Final = {
    "cluster": "${var.cluster_name}",
    "queue": "${local.interruption_queue}",
    "node_role": "${local.node_role}",
    "partition": "${data.aws_partition.current.partition}",
    "dns_suffix": "${data.aws_partition.current.dns_suffix}",
    "region": "${data.aws_region.current.id}",
    "account": "${data.aws_caller_identity.current.account_id}",
}
_QUEUE: Final = "aws_sqs_queue.interruption"


def terraform(installation: Installation) -> str:
    """The module. Names that were given become the defaults of its variables."""
    return written(
        (
            *_head(),
            *_variables(installation),
            _local_names(),
            *_node_role(),
            *_controller_role(installation),
            *_queue(),
            _output("controller_role_arn", "aws_iam_role.controller.arn"),
            _output("node_role_name", "aws_iam_role.node.name"),
            _output("interruption_queue_name", f"{_QUEUE}.name"),
        )
    )


def _head() -> Iterator[HclBlock]:
    provider: Document = {"source": "hashicorp/aws", "version": ">= 5.60"}
    yield HclBlock(
        "terraform",
        (),
        (("required_version", ">= 1.5"),),
        (HclBlock("required_providers", (), (("aws", provider),)),),
    )
    for data in ("aws_caller_identity", "aws_partition", "aws_region"):
        yield HclBlock("data", (data, "current"))


def _variables(installation: Installation) -> Iterator[HclBlock]:
    cluster = (("default", installation.cluster),) if installation.cluster else ()
    yield _variable("cluster_name", "Name of the EKS cluster.", *cluster)
    for name, about, default in (
        ("interruption_queue", "The SQS queue; empty: as the cluster.", installation.queue),
        (
            "node_role",
            "The role of nodes; empty: KarpenterNodeRole-CLUSTER.",
            installation.node_role,
        ),
        (
            "controller_role",
            "The role of the controller; empty: dovetail-CLUSTER.",
            installation.controller_role,
        ),
        (
            "oidc_provider",
            "The cluster's OIDC issuer without https://, for IRSA; empty: pod identity.",
            installation.oidc_provider,
        ),
        ("namespace", "Namespace of the controller.", installation.namespace),
        ("service_account", "Service account of the controller.", installation.service_account),
    ):
        yield _variable(name, about, ("default", default))


def _variable(name: str, about: str, *more: tuple[str, Document]) -> HclBlock:
    return HclBlock("variable", (name,), (("description", about), ("type", Raw("string")), *more))


def _local_names() -> HclBlock:
    queue = 'replace(var.cluster_name, ".", "-")'
    return HclBlock(
        "locals",
        (),
        (
            ("interruption_queue", _unless_empty("interruption_queue", queue)),
            ("node_role", _unless_empty("node_role", '"KarpenterNodeRole-${var.cluster_name}"')),
            (
                "controller_role",
                _unless_empty("controller_role", '"dovetail-${var.cluster_name}"'),
            ),
        ),
    )


def _unless_empty(variable: str, otherwise: str) -> Raw:
    return Raw(f'var.{variable} != "" ? var.{variable} : {otherwise}')


def _node_role() -> Iterator[HclBlock]:
    trust = encoded(filled_in(node_trust(), _NAMES))
    yield _resource(
        "aws_iam_role", "node", ("name", "${local.node_role}"), ("assume_role_policy", trust)
    )
    for name in NODE_POLICIES:
        arn = f"arn:{_NAMES['partition']}:iam::aws:policy/{name}"
        yield _attachment(f"node_{name}", "node", arn)
    yield _resource(
        "aws_eks_access_entry",
        "node",
        ("cluster_name", "${var.cluster_name}"),
        ("principal_arn", "${aws_iam_role.node.arn}"),
        ("type", "EC2_LINUX"),
    )


def _controller_role(installation: Installation) -> Iterator[HclBlock]:
    for name, policy in policy_documents(installation).items():
        key = _snake(name)
        yield _resource(
            "aws_iam_policy",
            key,
            ("name", f"Dovetail{name}-${{var.cluster_name}}"),
            ("policy", encoded(filled_in(policy, _NAMES))),
        )
        yield _attachment(f"controller_{key}", "controller", f"${{aws_iam_policy.{key}.arn}}")
    plain = msgspec.structs.replace(installation, oidc_provider="")
    federated = msgspec.structs.replace(
        installation,
        oidc_provider="${var.oidc_provider}",
        namespace="${var.namespace}",
        service_account="${var.service_account}",
    )
    by_pod, by_token = (
        encoded(filled_in(controller_trust(trusted), _NAMES)).text for trusted in (plain, federated)
    )
    yield _resource(
        "aws_iam_role",
        "controller",
        ("name", "${local.controller_role}"),
        ("assume_role_policy", Raw(f'var.oidc_provider == "" ? {by_pod} : {by_token}')),
    )
    yield _resource(
        "aws_eks_pod_identity_association",
        "controller",
        ("count", Raw('var.oidc_provider == "" ? 1 : 0')),
        ("cluster_name", "${var.cluster_name}"),
        ("namespace", "${var.namespace}"),
        ("service_account", "${var.service_account}"),
        ("role_arn", "${aws_iam_role.controller.arn}"),
    )


def _queue() -> Iterator[HclBlock]:
    yield _resource(
        "aws_sqs_queue",
        "interruption",
        ("name", "${local.interruption_queue}"),
        ("message_retention_seconds", RETENTION_SECONDS),
        ("sqs_managed_sse_enabled", True),
    )
    rules: list[Document] = []
    for rule in RULES:
        key = _snake(rule.name)
        rules.append(f"${{aws_cloudwatch_event_rule.{key}.arn}}")
        yield _resource(
            "aws_cloudwatch_event_rule",
            key,
            ("description", rule.about),
            ("event_pattern", encoded(rule.pattern())),
        )
        yield _resource(
            "aws_cloudwatch_event_target",
            key,
            ("rule", f"${{aws_cloudwatch_event_rule.{key}.name}}"),
            ("arn", f"${{{_QUEUE}.arn}}"),
        )
    yield _resource(
        "aws_sqs_queue_policy",
        "interruption",
        ("queue_url", f"${{{_QUEUE}.url}}"),
        ("policy", encoded(queue_policy(f"${{{_QUEUE}.arn}}", rules))),
    )


def _resource(kind: str, name: str, *arguments: tuple[str, Document | Raw]) -> HclBlock:
    return HclBlock("resource", (kind, name), arguments)


def _attachment(name: str, role: str, policy: str) -> HclBlock:
    return _resource(
        "aws_iam_role_policy_attachment",
        name,
        ("role", f"${{aws_iam_role.{role}.name}}"),
        ("policy_arn", policy),
    )


def _output(name: str, value: str) -> HclBlock:
    return HclBlock("output", (name,), (("value", Raw(value)),))


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]
