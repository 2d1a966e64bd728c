"""Orders to the EC2 for tests, and the record of what was asked of it.

Types, zones and capacity types may be patterns with `*`. Everything lasts until `reset`.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

CapacityType = Literal["on-demand", "spot", "*"]
Part = Literal["instance", "system", "ebs"]
REGION = "us-west-2"
ACCOUNT = "123456789012"


@dataclass(frozen=True)
class RecordedCall:
    """One call. `number` counts calls as they came, `answered` as they were answered."""

    number: int
    service: str
    action: str
    parameters: Mapping[str, Any]
    at: str
    error_code: str  # empty: it went well
    answered: int  # 0: not yet
    agent: str = ""  # the SDK that calls, and for whom
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of resources it names


class Ec2Control:
    """The test's end of the control."""

    def __init__(self, url: str) -> None:
        self.url = url

    def reset(self) -> None:
        """Begin anew: no instance, no fault, no call, the clock at its start."""
        self._order("reset")

    def calls(self, action: str = "", *, after: int = 0) -> list[RecordedCall]:
        """Every call in order, or those of one action."""
        calls = [RecordedCall(**call) for call in self._order("calls", after=after)]
        return [call for call in calls if action in ("", call.action)]

    # ------------------------------------------------------------ time

    def now(self) -> datetime:
        """The instant, as EC2 has it."""
        return datetime.fromisoformat(self._order("now"))

    def advance(self, span: timedelta) -> datetime:
        """Let time pass; instances change their states."""
        return datetime.fromisoformat(self._order("advance", seconds=span.total_seconds()))

    def follow_real_time(self) -> None:
        """Let time pass by itself, for controllers that run on the real clock."""
        self._order("follow_real_time")

    def set_delays(
        self, *, pending: timedelta, shutting_down: timedelta, terminated: timedelta
    ) -> None:
        """How long instances stay in the states that they leave by themselves."""
        self._order(
            "set_delays",
            pending=pending.total_seconds(),
            shutting_down=shutting_down.total_seconds(),
            terminated=terminated.total_seconds(),
        )

    # ------------------------------------------------------------ pools

    def set_capacity(
        self,
        n_instances: int | None,
        *,
        instance_type: str = "*",
        zone: str = "*",
        capacity_type: CapacityType = "*",
    ) -> None:
        """How many more instances each pool has; None means without limit, as at the start."""
        self._order(
            "set_capacity",
            n_instances=n_instances,
            instance_type=instance_type,
            zone=zone,
            capacity_type=capacity_type,
        )

    def set_price(
        self,
        nanousd: int,
        *,
        instance_type: str,
        zone: str = "*",
        capacity_type: CapacityType = "*",
    ) -> None:
        """What an hour of an instance costs, in nanodollars."""
        self._order(
            "set_price",
            nanousd=nanousd,
            instance_type=instance_type,
            zone=zone,
            capacity_type=capacity_type,
        )

    def withdraw(self, instance_type: str, zone: str = "*") -> None:
        """No longer offer types in zones."""
        self._order("withdraw", instance_type=instance_type, zone=zone)

    def set_free_addresses(self, subnet_id: str, n_addresses: int) -> None:
        """How many more instances a subnet has addresses for."""
        self._order("set_free_addresses", subnet_id=subnet_id, n_addresses=n_addresses)

    # ------------------------------------------------------------ faults

    def fail_overrides(
        self,
        code: str,
        message: str = "",
        *,
        instance_type: str = "*",
        zone: str = "*",
        capacity_type: CapacityType = "*",
        subnet_id: str = "*",
        times: int | None = None,
    ) -> None:
        """Give an error to overrides of fleet requests; by default until it is cleared."""
        self._order(
            "fail_overrides",
            code=code,
            message=message,
            instance_type=instance_type,
            zone=zone,
            capacity_type=capacity_type,
            subnet_id=subnet_id,
            times=times,
        )

    def fail_calls(
        self,
        action: str,
        code: str,
        message: str = "",
        *,
        status: int = 400,
        skip: int = 0,
        times: int | None = 1,
    ) -> None:
        """Answer calls with an error; nothing of them is carried out."""
        self._fault(
            action, "error", code=code, message=message, status=status, skip=skip, times=times
        )

    def throttle(self, action: str = "*", *, skip: int = 0, times: int | None = 1) -> None:
        """Answer calls as EC2 does when there are too many of them."""
        message = "Request limit exceeded."
        self.fail_calls(action, "RequestLimitExceeded", message, status=503, skip=skip, times=times)

    def cut(self, action: str, *, skip: int = 0, times: int | None = 1) -> None:
        """Close the connection before the call is carried out."""
        self._fault(action, "cut", skip=skip, times=times)

    def lose_answer(self, action: str, *, skip: int = 0, times: int | None = 1) -> None:
        """Carry the call out, and close the connection before it is answered."""
        self._fault(action, "lose", skip=skip, times=times)

    def garble(
        self, action: str, *, status: int = 200, skip: int = 0, times: int | None = 1
    ) -> None:
        """Carry the call out, and answer with text that is no answer."""
        self._fault(action, "garble", status=status, skip=skip, times=times)

    def slow_down(
        self, action: str, span: timedelta, *, skip: int = 0, times: int | None = 1
    ) -> None:
        """Wait, in real time, before a call is carried out."""
        self._fault(action, "delay", seconds=span.total_seconds(), skip=skip, times=times)

    def clear_faults(self) -> None:
        """Nothing goes wrong any more."""
        self._order("clear_faults")

    def _fault(self, action: str, kind: str, **settings: Any) -> None:
        self._order("fail_calls", action=action, kind=kind, **settings)

    # ------------------------------------------------------------ resources

    def add_reservation(
        self,
        instance_type: str,
        zone: str,
        n_instances: int,
        *,
        criteria: Literal["open", "targeted"] = "targeted",
        kind: Literal["default", "capacity-block"] = "default",
        is_interruptible: bool = False,
        ends_at: datetime | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> str:
        """Make a capacity reservation; its id."""
        return str(
            self._order(
                "add_reservation",
                instance_type=instance_type,
                zone=zone,
                n_total=n_instances,
                criteria=criteria,
                kind=kind,
                is_interruptible=is_interruptible,
                ends_at=ends_at.isoformat() if ends_at else None,
                tags=dict(tags or {}),
            )
        )

    def change_reservation(self, reservation_id: str, *, state: str, n_instances: int) -> None:
        """Change a capacity reservation; instances leave one that is cancelled or expired."""
        self._order(
            "change_reservation", reservation_id=reservation_id, state=state, n_total=n_instances
        )

    def add_image(
        self,
        name: str,
        *,
        architecture: Literal["x86_64", "arm64"] = "x86_64",
        owner: str = "self",
        created_at: str = "2025-12-31T00:00:00+00:00",
        deprecated_at: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> str:
        """Make a machine image; its id. The owner is an account, `self` or `amazon`."""
        return str(
            self._order(
                "add_image",
                name=name,
                architecture=architecture,
                owner=owner,
                created_at=created_at,
                deprecated_at=deprecated_at,
                tags=dict(tags or {}),
            )
        )

    def deprecate_image(self, image_id: str) -> None:
        """Deprecate an image from now on."""
        self._order("deprecate_image", image_id=image_id)

    def remove_image(self, image_id: str) -> None:
        """Deregister an image."""
        self._order("remove_image", image_id=image_id)

    def set_image_parameter(self, name: str, image_id: str | None) -> None:
        """Let a public SSM parameter name an image; None removes the parameter."""
        self._order("set_image_parameter", name=name, image_id=image_id)

    def change_cluster(self, name: str, changes: Mapping[str, Any]) -> None:
        """Let EKS' DescribeCluster answer with these members, such as `endpoint`."""
        self._order("change_cluster", name=name, changes=dict(changes))

    # ------------------------------------------------------------ instances

    def terminate(self, instance_id: str) -> None:
        """Terminate an instance without a call that is recorded, as somebody else would."""
        self._order("terminate", instance_id=instance_id)

    def reclaim(self, instance_id: str) -> None:
        """Take a spot instance back."""
        self._order("reclaim", instance_id=instance_id)

    def impair(self, instance_id: str, part: Part, *, is_impaired: bool = True) -> None:
        """Let a status check fail from now on, or pass again."""
        self._order("impair", instance_id=instance_id, part=part, is_impaired=is_impaired)

    def shift_zones(
        self, zones: Sequence[str] = (), *, by_itself: Sequence[str] = (), is_managed: bool = True
    ) -> None:
        """Shift traffic of all clusters away from these zones (ids) and no others, by order of
        somebody or by ARC itself. ARC knows a cluster only if it is managed.
        """
        self._order(
            "shift_zones", zones=list(zones), autoshifted=list(by_itself), is_managed=is_managed
        )

    def schedule_event(self, instance_id: str, code: str, after: timedelta) -> None:
        """Announce a scheduled event, such as `instance-retirement`."""
        seconds = after.total_seconds()
        self._order("schedule_event", instance_id=instance_id, code=code, after_seconds=seconds)

    def launch(self, n_instances: int, **settings: Any) -> list[str]:
        """Launch many instances without a call that is recorded; the settings of RunInstances."""
        launched = self._order("launch_directly", n_instances=n_instances, **settings)
        return [str(instance_id) for instance_id in launched]

    def _order(self, verb: str, **arguments: Any) -> Any:
        body = json.dumps(arguments).encode()
        request = urllib.request.Request(  # noqa: S310 -- our own server on 127.0.0.1
            f"{self.url}/ec2-for-tests/{verb}", data=body, method="POST"
        )
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310 -- as above
                return json.load(answer)
        except urllib.error.HTTPError as error:
            msg = f"{verb}: {error.read().decode()}"
            raise AssertionError(msg) from None
