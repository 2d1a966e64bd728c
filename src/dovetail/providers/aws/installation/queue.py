"""Describes the interruption queue, who may send to it, and the events that are sent."""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail.providers.aws.installation.policies import Document, Tree, document

RETENTION_SECONDS: Final = 300
_EC2: Final = "aws.ec2"


class EventRule(msgspec.Struct, frozen=True):
    """A rule of EventBridge that sends events to the queue."""

    name: str
    about: str
    source: str
    detail_type: str
    detail: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def pattern(self) -> Tree:
        """The events that it sends."""
        detail: Tree = {key: [*values] for key, values in self.detail}
        return {
            "source": [self.source],
            "detail-type": [self.detail_type],
            **({"detail": detail} if detail else {}),
        }


RULES: Final = (
    EventRule(
        "ScheduledChange",
        "EC2 announces maintenance or retirement of instances",
        "aws.health",
        "AWS Health Event",
        (("service", ("EC2",)), ("eventTypeCategory", ("scheduledChange",))),
    ),
    EventRule(
        "SpotInterruption",
        "EC2 takes spot instances back",
        _EC2,
        "EC2 Spot Instance Interruption Warning",
    ),
    EventRule(
        "Rebalance",
        "EC2 recommends to replace spot instances",
        _EC2,
        "EC2 Instance Rebalance Recommendation",
    ),
    EventRule(
        "StateChange",
        "Instances stop or are terminated",
        _EC2,
        "EC2 Instance State-change Notification",
        (("state", ("stopping", "stopped", "shutting-down", "terminated")),),
    ),
    EventRule(
        "ReservationInterruption",
        "The owner of a capacity reservation takes it back",
        _EC2,
        "EC2 Capacity Reservation Instance Interruption Warning",
    ),
)


def queue_policy(queue: Document, rules: Document) -> Tree:
    """Only these rules send to the queue, and nobody uses it without TLS. Both are ARNs."""
    return document(
        [
            {
                "Sid": "SendFromRules",
                "Effect": "Allow",
                "Principal": {"Service": "events.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": queue,
                "Condition": {"ArnEquals": {"aws:SourceArn": rules}},
            },
            {
                "Sid": "DenyWithoutTls",
                "Effect": "Deny",
                "Principal": "*",
                "Action": "sqs:*",
                "Resource": queue,
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            },
        ]
    )
