"""How does a planned node become a claim, and who is told? The same way whoever wants it.

From the moment that a launch begins its node counts as one to come; what became of it goes into the
memory of the cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail import labels
from dovetail.actuate.claims import claim_body, overlay_marks
from dovetail.actuate.launching import Orders
from dovetail.controllers.known import NODE_CLAIM, Known
from dovetail.controllers.means import Means
from dovetail.controllers.remarks import shown
from dovetail.decide.lifecycle.hashing import HASH_VERSION, template_hash
from dovetail.decide.lifecycle.step import Event
from dovetail.kube.errors import ApiError
from dovetail.model.plan import Launch
from dovetail.model.pool import NodePool
from dovetail.state.changes import Launched, LaunchFailed, LaunchStarted
from dovetail.units import quantity

NOMINATED: Final = "Nominated"
_AT_ONCE: Final = 100  # claims that are being made


class Purpose(msgspec.Struct, frozen=True):
    """What claims are made for, as metrics have it, and what they say of it in annotations."""

    reason: str
    marks: Mapping[str, str] = {}


PROVISIONING: Final = Purpose("provisioned")


class Ordering:
    """Has claims made, so many at once."""

    def __init__(self, means: Means, known: Known, orders: Orders) -> None:
        self._means = means
        self._known = known
        self._orders = orders
        self._log = means.log.named("provisioner")
        self._slots = asyncio.Semaphore(_AT_ONCE)

    def begin(self, launch: Launch, now: datetime) -> None:
        """From now on this is a node to come, and its pods are meant for it."""
        self._known.cluster.apply(LaunchStarted(launch, now))

    async def place(self, launch: Launch, pool: NodePool, purpose: Purpose = PROVISIONING) -> bool:
        """Have the claim made of a launch that has begun; whether the API took it."""
        clock, cluster = self._means.clock, self._known.cluster
        marks = {
            labels.NODE_POOL_HASH: template_hash(pool),
            labels.NODE_POOL_HASH_VERSION: HASH_VERSION,
            **overlay_marks(launch, cluster.instance_types(pool.name)),
            **purpose.marks,
        }
        try:
            async with self._slots:
                made = await self._orders.place(claim_body(launch, pool, marks))
        except ApiError as error:
            cluster.apply(LaunchFailed(launch.name, clock.now()))
            self._log.error("creating nodeclaim", NodeClaim=launch.name, error=str(error))
            return False
        except BaseException:
            # Nobody knows whether the API has it: the watch shows it soon, or it is forgotten.
            cluster.apply(Launched(launch.name, clock.now()))
            raise
        cluster.apply(Launched(launch.name, clock.now()))
        self._known.put(NODE_CLAIM, made)
        self._means.meters.nodeclaims_created_total.labels(
            reason=purpose.reason,
            nodepool=launch.node_pool,
            min_values_relaxed=str(launch.is_min_values_relaxed).lower(),
        ).inc()
        self._log.info("created nodeclaim", **described(launch))
        self.tell_nominated(launch.pods, f"nodeclaim/{launch.name}")
        return True

    def tell_nominated(self, pods: tuple[str, ...], where: str) -> None:
        """Say to whoever looks at these pods where they are meant to go."""
        for pod in pods:
            found = self._known.pod(pod)
            if found is not None:
                message = f"Pod should schedule on: {where}"
                event = Event("Pod", pod, NOMINATED, message, uid=found.uid)
                self._means.recorder.tell(event)


def described(launch: Launch) -> dict[str, object]:
    """A launch in the log."""
    return {
        "NodePool": launch.node_pool,
        "NodeClaim": launch.name,
        "requests": {
            name: quantity.render(name, amount) for name, amount in launch.requests.items()
        },
        "instance-types": shown(launch.instance_types),
        "zone": launch.zone,
        "capacity-type": launch.capacity_type,
        "price_per_hour": launch.price_nanousd / 1e9,
        "pods": len(launch.pods),
    }
