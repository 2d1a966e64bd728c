"""Messages as EventBridge sends them to a queue."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

SENT_AT = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
SPOT = "EC2 Spot Instance Interruption Warning"
REBALANCE = "EC2 Instance Rebalance Recommendation"
STATE_CHANGE = "EC2 Instance State-change Notification"
RESERVATION = "EC2 Capacity Reservation Instance Interruption Warning"
HEALTH = "AWS Health Event"


def message(
    detail_type: str,
    detail: dict[str, Any],
    *,
    sent_at: datetime = SENT_AT,
    source: str = "",
    version: str = "0",
) -> str:
    """One message."""
    return json.dumps(
        {
            "version": version,
            "id": "12345678-1234-1234-1234-123456789012",
            "detail-type": detail_type,
            "source": source or ("aws.health" if detail_type == HEALTH else "aws.ec2"),
            "account": "123456789012",
            "time": sent_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": "us-west-2",
            "resources": [],
            "detail": detail,
        }
    )


def spot(instance: str, *, sent_at: datetime = SENT_AT) -> str:
    """A spot instance will be taken back in two minutes."""
    detail = {"instance-id": instance, "instance-action": "terminate"}
    return message(SPOT, detail, sent_at=sent_at)


def rebalance(instance: str) -> str:
    """A spot instance had better be replaced."""
    return message(REBALANCE, {"instance-id": instance})


def state_change(instance: str, state: str) -> str:
    """An instance has another state."""
    return message(STATE_CHANGE, {"instance-id": instance, "state": state})


def reservation(instance: str, terminated_at: str = "", *, sent_at: datetime = SENT_AT) -> str:
    """The owner of a capacity reservation takes it back."""
    detail = {
        "instance-id": instance,
        "instance-action": "terminate",
        "instance-termination-time": terminated_at,
    }
    return message(RESERVATION, detail, sent_at=sent_at)


def health(*instances: str, starts_at: str = "", **others: str) -> str:
    """AWS will change these instances."""
    detail = {
        "eventArn": "arn:aws:health:us-west-2::event/EC2/X/1",
        "service": "EC2",
        "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
        "eventTypeCategory": "scheduledChange",
        "statusCode": "upcoming",
        "startTime": starts_at,
        "affectedEntities": [{"entityValue": instance} for instance in instances],
        **others,
    }
    return message(HEALTH, detail)
