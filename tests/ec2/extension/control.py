"""What tests may ask and order, as JSON over HTTP; `tests/ec2/control.py` is the other end."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from moto.core.base_backend import BackendDict
from moto.core.model_instances import reset_model_data

from tests.ec2.extension import catalogue, fleet, moto_state
from tests.ec2.extension.faults import CallFault
from tests.ec2.extension.images import AMAZON, Image
from tests.ec2.extension.record import Record
from tests.ec2.extension.reservations import Reservation
from tests.ec2.extension.wire import Answer, AwsError, Tree
from tests.ec2.extension.world import PoolFault, World

_SPOT_REASON = ("Server.SpotInstanceTermination: Spot instance termination",) * 2


class Control:
    """One method for each thing that a test may order; its keyword arguments are the JSON body."""

    def __init__(self, fresh_world: Callable[[], World], record: Record) -> None:
        self._fresh_world = fresh_world
        self._record = record
        self._world = fresh_world()

    def answer(self, verb: str, body: bytes) -> Answer:
        """Carry one order out."""
        order = None if verb.startswith("_") else getattr(self, f"order_{verb}", None)
        if order is None:
            return Answer(b'"no such order"', 404, "application/json")
        try:
            with self._world.lock:
                self._world.settle()
                result = order(**json.loads(body or b"{}"))
        except (AwsError, KeyError, TypeError, ValueError) as error:
            return Answer(json.dumps(repr(error)).encode(), 400, "application/json")
        return Answer(json.dumps(result).encode(), 200, "application/json")

    def order_reset(self) -> None:
        """Begin anew: no instance, no fault, no call."""
        BackendDict.reset()
        reset_model_data()
        self._record.clear()
        self._world = self._fresh_world()

    def order_calls(self, after: int) -> list[Tree]:
        """The record of calls."""
        return self._record.read(after)

    # ------------------------------------------------------------ time

    def order_now(self) -> str:
        """The instant."""
        return self._world.clock.now().isoformat()

    def order_advance(self, seconds: float) -> str:
        """Let time pass."""
        self._world.clock.advance(seconds)
        self._world.settle()
        return self.order_now()

    def order_follow_real_time(self) -> None:
        """Let time pass by itself."""
        self._world.clock.follow_real_time()

    def order_set_delays(self, pending: float, shutting_down: float, terminated: float) -> None:
        """How long instances stay in the states that they leave by themselves, in seconds."""
        delays = self._world.delays
        delays.pending = timedelta(seconds=pending)
        delays.shutting_down = timedelta(seconds=shutting_down)
        delays.terminated = timedelta(seconds=terminated)

    # ------------------------------------------------------------ pools

    def order_set_capacity(
        self, instance_type: str, zone: str, capacity_type: str, n_instances: int | None
    ) -> None:
        """How many more instances each pool that fits the patterns has."""
        for pool in catalogue.pools(instance_type, zone, capacity_type):
            if n_instances is None:
                self._world.market.capacity.pop(pool, None)
            else:
                self._world.market.capacity[pool] = n_instances

    def order_set_price(
        self, instance_type: str, zone: str, capacity_type: str, nanousd: int
    ) -> None:
        """What each pool that fits the patterns costs."""
        for pool in catalogue.pools(instance_type, zone, capacity_type):
            self._world.market.prices[pool] = nanousd

    def order_withdraw(self, instance_type: str, zone: str) -> None:
        """No longer offer the types in the zones."""
        for pool in catalogue.pools(instance_type, zone, "*"):
            self._world.market.withdrawn.add(pool[:2])

    def order_set_free_addresses(self, subnet_id: str, n_addresses: int) -> None:
        """How many more instances a subnet has addresses for."""
        used = self._world.used_addresses(subnet_id)
        self._world.free_addresses[subnet_id] = n_addresses + used

    # ------------------------------------------------------------ faults

    def order_fail_overrides(self, **fault: Any) -> None:
        """Give an error to the overrides that fit."""
        self._world.pool_faults.append(PoolFault(**fault))

    def order_fail_calls(self, **fault: Any) -> None:
        """Let calls of an action go wrong."""
        self._world.call_faults.append(CallFault(**fault))

    def order_clear_faults(self) -> None:
        """Nothing goes wrong any more."""
        self._world.pool_faults.clear()
        self._world.call_faults.clear()

    # ------------------------------------------------------------ things

    def order_add_reservation(self, ends_at: str | None, **given: Any) -> str:
        """Make a capacity reservation; its id."""
        reservation = Reservation(
            reservation_id=self._world.new_id("cr"),
            created_at=self._world.clock.now(),
            ends_at=datetime.fromisoformat(ends_at) if ends_at else None,
            **{"owner_id": moto_state.ACCOUNT, "state": "active", **given},
        )
        self._world.reservations[reservation.reservation_id] = reservation
        return reservation.reservation_id

    def order_change_reservation(self, reservation_id: str, state: str, n_total: int) -> None:
        """Change a capacity reservation."""
        reservation = self._world.reservations[reservation_id]
        reservation.state, reservation.n_total = state, n_total
        if state in ("cancelled", "expired"):
            for instance in self._world.instances.values():
                if instance.capacity_reservation_id == reservation_id:
                    instance.capacity_reservation_id = ""

    def order_add_image(
        self,
        *,
        name: str,
        architecture: str,
        owner: str,
        created_at: str,
        deprecated_at: str | None,
        tags: dict[str, str],
    ) -> str:
        """Make a machine image; its id."""
        owner_id = {"self": moto_state.ACCOUNT, "amazon": AMAZON}.get(owner, owner)
        image = Image(
            image_id=self._world.new_id("ami"),
            name=name,
            architecture=architecture,
            owner_id=owner_id,
            owner_alias="amazon" if owner == "amazon" else "",
            created_at=datetime.fromisoformat(created_at),
            deprecated_at=datetime.fromisoformat(deprecated_at) if deprecated_at else None,
            tags=tags,
        )
        self._world.images[image.image_id] = image
        return image.image_id

    def order_deprecate_image(self, image_id: str) -> None:
        """Deprecate an image from now on."""
        self._world.images[image_id].deprecated_at = self._world.clock.now()

    def order_remove_image(self, image_id: str) -> None:
        """Deregister an image."""
        del self._world.images[image_id]

    def order_set_image_parameter(self, name: str, image_id: str | None) -> None:
        """Let an SSM parameter name an image, or remove the parameter."""
        if image_id is None:
            self._world.image_parameters.pop(name, None)
        else:
            self._world.image_parameters[name] = image_id

    def order_change_cluster(self, name: str, changes: Tree) -> None:
        """Let DescribeCluster answer with these members instead of moto's."""
        self._world.clusters.setdefault(name, {}).update(changes)

    # ------------------------------------------------------------ instances

    def order_terminate(self, instance_id: str) -> None:
        """Terminate an instance behind everybody's back."""
        self._world.terminate(instance_id, ("User initiated", "Client.UserInitiatedShutdown"))

    def order_reclaim(self, instance_id: str) -> None:
        """Take a spot instance back."""
        self._world.terminate(instance_id, _SPOT_REASON)

    def order_shift_zones(
        self, zones: list[str], autoshifted: list[str], *, is_managed: bool
    ) -> None:
        """Shift traffic away from zones."""
        self._world.shifted_zones = set(zones)
        self._world.autoshifted_zones = set(autoshifted)
        self._world.is_managed_by_arc = is_managed

    def order_impair(self, instance_id: str, part: str, *, is_impaired: bool) -> None:
        """Let a status check (instance, system or ebs) fail from now on, or pass again."""
        instance = self._world.instances[instance_id]
        instance.impaired.pop(part, None)
        if is_impaired:
            instance.impaired[part] = self._world.clock.now()

    def order_schedule_event(self, instance_id: str, code: str, after_seconds: float) -> None:
        """Announce a scheduled event."""
        self._world.instances[instance_id].events.append(
            {
                "InstanceEventId": self._world.new_id("instance-event"),
                "Code": code,
                "Description": f"The instance is scheduled for {code}",
                "NotBefore": self._world.clock.now() + timedelta(seconds=after_seconds),
            }
        )

    def order_launch_directly(self, n_instances: int, **settings: Any) -> list[str]:
        """Launch many instances at once, for tests of long lists."""
        parameters = {"MinCount": n_instances, "MaxCount": n_instances, **settings}
        answer = fleet.run_instances(self._world, parameters)
        return [one["InstanceId"] for one in answer["Instances"]]
