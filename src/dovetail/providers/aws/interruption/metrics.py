"""Names the metrics of interruptions, as the reference does."""

from __future__ import annotations

from typing import Final

from dovetail.cloud.meters import SECONDS, ProviderMetric

RECEIVED_MESSAGES: Final = "interruption_received_messages_total"
DELETED_MESSAGES: Final = "interruption_deleted_messages_total"
MESSAGE_DURATION: Final = "interruption_message_queue_duration_seconds"
UNHEALTHY_STATUSES: Final = "interruption_instance_status_unhealthy_total"
METRICS: Final = (
    ProviderMetric(
        RECEIVED_MESSAGES, "Messages received from the interruption queue.", ("message_type",)
    ),
    ProviderMetric(DELETED_MESSAGES, "Messages deleted from the interruption queue."),
    ProviderMetric(
        MESSAGE_DURATION,
        "Time from an interruption's event until its message was deleted.",
        buckets=SECONDS,
    ),
    ProviderMetric(
        UNHEALTHY_STATUSES, "Instances that began to fail a status check.", ("category",)
    ),
)
