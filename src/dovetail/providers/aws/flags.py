"""Names the flags and variables that set the settings of the AWS provider."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Final

from dovetail.providers.aws.settings import NODE_CLASS_CEL, AwsSettings, parse_feature_gates
from dovetail.settings import readings
from dovetail.settings.table import Flag, SettingsTable

_PANEL: Final = "Provider aws"


def _share(given: str) -> Decimal:
    try:
        share = Decimal(given)
    except InvalidOperation:
        share = Decimal("NaN")
    if not share.is_finite():
        msg = f"expected a number such as 0.075, not {readings.quoted_text(given)}"
        raise readings.MalformedError(msg)
    if share < 0:
        msg = f"expected 0 or more, not {readings.quoted_text(given)}"
        raise ValueError(msg)
    return share


def _node_class_cel(given: str) -> bool:
    return parse_feature_gates(given)[NODE_CLASS_CEL]


def _text(name: str, help_text: str, metavar: str = "TEXT") -> Flag:
    return Flag(name, _environment(name), _PANEL, help_text, metavar=metavar)


def _switch(name: str, help_text: str) -> Flag:
    return Flag(name, _environment(name), _PANEL, help_text, readings.truth, "true|false")


def _span(name: str, help_text: str) -> Flag:
    return Flag(name, _environment(name), _PANEL, help_text, readings.span, "DURATION")


def _environment(name: str) -> str:
    return name.upper().replace("-", "_")


TABLE: Final = SettingsTable(
    AwsSettings(),
    (
        _text("cluster-name", "The name of the EKS cluster; tags of instances have it.", "NAME"),
        _text(
            "cluster-endpoint",
            "The URL at which nodes reach the API server. Default: what EKS says.",
            "URL",
        ),
        _text("cluster-ca-bundle", "The CA of the API server for nodes, in base64.", "BASE64"),
        Flag(
            "region",
            "AWS_REGION",
            _PANEL,
            "The region of the cluster. Default: what the metadata of this instance says.",
            metavar="NAME",
        ),
        _switch("isolated-vpc", "The VPC has no way out: ask no service that has no endpoint."),
        _switch(
            "eks-control-plane",
            "EKS runs the cluster: ask it for the version of Kubernetes, not the API server.",
        ),
        Flag(
            "vm-memory-overhead-percent",
            "VM_MEMORY_OVERHEAD_PERCENT",
            _PANEL,
            "The share of memory that the hypervisor and the kernel take, of every instance type.",
            _share,
            "SHARE",
        ),
        _text("interruption-queue", "The SQS queue with interruptions. Default: none.", "NAME"),
        _switch(
            "replace-on-rebalance-recommendation",
            "Replace spot instances that EC2 recommends to replace, as drifted nodes are.",
        ),
        Flag(
            "reserved-enis",
            "RESERVED_ENIS",
            _PANEL,
            "Network interfaces of each instance that pods cannot use.",
            readings.between(0, 1_000),
            "N",
        ),
        _switch("disable-dry-run", "Do not try out launches to validate an EC2NodeClass."),
        _switch("enable-zonal-shift", "Launch nothing in zones that ARC has shifted away from."),
        _span("ami-refresh-interval", "How long found images are believed; at least 1m."),
        _span("subnet-refresh-interval", "How long found subnets are believed; at least 1m."),
        Flag(
            "aws-feature-gates",
            "AWS_FEATURE_GATES",
            _PANEL,
            "Features of this provider by name: NodeClassCEL=true; unknown ones are ignored.",
            _node_class_cel,
            "GATES",
            sets="node_class_cel",
        ),
        Flag(
            "aws-endpoint-url",
            "AWS_ENDPOINT_URL",
            _PANEL,
            "The URL of all AWS services, for tests.",
            metavar="URL",
            sets="endpoint_url",
        ),
    ),
)
