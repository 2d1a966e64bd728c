"""Renders what the account needs as one JSON document with literal names."""

from __future__ import annotations

import msgspec

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


def policy_json(installation: Installation) -> str:
    """Policies, trust, queue and rules, to be cut out with jq."""
    text = msgspec.json.encode(literal_documents(installation))
    return msgspec.json.format(text, indent=2).decode() + "\n"


def literal_documents(installation: Installation) -> Document:
    """The same as a tree."""
    queue = "arn:{partition}:sqs:{region}:{account}:{queue}"
    rule = "arn:{partition}:events:{region}:{account}:rule/"
    names: dict[str, str] = {entry.name: f"Dovetail{entry.name}-{{cluster}}" for entry in RULES}
    rules: Tree = {names[entry.name]: entry.pattern() for entry in RULES}
    tree: Tree = {
        "policies": {**policy_documents(installation)},
        "controllerTrust": controller_trust(installation),
        "nodeTrust": node_trust(),
        "nodePolicies": [f"arn:{{partition}}:iam::aws:policy/{name}" for name in NODE_POLICIES],
        "queue": {
            "MessageRetentionPeriod": str(RETENTION_SECONDS),
            "SqsManagedSseEnabled": "true",
        },
        "queuePolicy": queue_policy(queue, [f"{rule}{name}" for name in names.values()]),
        "rules": rules,
    }
    return filled_in(
        tree,
        {
            "cluster": installation.cluster,
            "queue": installation.queue,
            "node_role": installation.node_role,
            "partition": installation.partition,
            "dns_suffix": installation.dns_suffix,
            "region": installation.region,
            "account": installation.account,
        },
    )
