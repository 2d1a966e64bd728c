"""Keeps the status of every EC2NodeClass: resolves, validates, stamps hashes and finalizes.

Each class has a task of its own, so that a fault of one holds up no other; ten are at work at a
time. A class is looked at when somebody changes it, when a NodeClaim of it has ended, and when the
shortest of its timers runs out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from dovetail import api
from dovetail.clock import happens_within
from dovetail.cloud.context import ProviderContext
from dovetail.kube.errors import ApiError, ConflictError, NotFoundError
from dovetail.kube.seam import Kube, Ref, Scope
from dovetail.model.backoff import Backoff
from dovetail.providers.aws.apis import AwsApis
from dovetail.providers.aws.bootstrap.families import family_of
from dovetail.providers.aws.calls import CallFailedError
from dovetail.providers.aws.cluster import unsupported_version
from dovetail.providers.aws.node_class.hashing import HASH_VERSION, node_class_hash
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status import finalization
from dovetail.providers.aws.status.objects import NODE_CLAIM, NODE_CLASS, ClassObjects, is_of_class
from dovetail.providers.aws.status.parts import ControllerOptions, StatusParts
from dovetail.providers.aws.status.patches import (
    FINALIZER,
    HASH_VERSION_KEY,
    claim_stamps,
    release_patch,
    stamp_patch,
    status_patch,
)
from dovetail.providers.aws.status.profiles.names import PROFILE_ANNOTATION
from dovetail.providers.aws.status.reporting import StatusReports
from dovetail.providers.aws.status.status_pass import status_pass
from dovetail.providers.aws.status.validating.checks import DEPENDENCIES_NOT_READY

_N_WORKERS: Final = 10
_BACKOFF: Final = Backoff(1.0, 60.0)
_LONGEST_WAIT: Final = timedelta(minutes=10)
_HOUSEKEEPING_EVERY: Final = timedelta(minutes=30)
_VERSION_EVERY: Final = timedelta(minutes=5)


class NodeClassController:
    """The controller of EC2NodeClass. `parts` holds the sources that launches read as well."""

    def __init__(
        self,
        context: ProviderContext[Kube],
        apis: AwsApis,
        settings: AwsSettings,
        options: ControllerOptions,
    ) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._timer = context.timer
        self._settings = settings
        self._chance = options.chance
        self._changes: asyncio.Queue[str] = asyncio.Queue()
        self._reports = StatusReports(context.tell, context.log, self._clock)
        self.objects = ClassObjects(
            context,
            options.chance,
            changed=self._changes.put_nowait,
            troubled=self._reports.trouble,
        )
        self.parts = StatusParts(apis, settings, self._clock, options, self.objects.pools)
        self._wakings: dict[str, asyncio.Event] = {}
        self._n_failed: dict[str, int] = {}

    async def run(self) -> None:
        """Work until cancelled. One replica does it at a time."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.objects.run())
            await self.objects.wait_in_sync()
            group.create_task(self._every(_HOUSEKEEPING_EVERY, self.collect_profiles))
            group.create_task(self._every(_HOUSEKEEPING_EVERY, self.invalidate_images))
            group.create_task(self._every(_VERSION_EVERY, self.check_version))
            await self._dispatch(group)

    async def _dispatch(self, group: asyncio.TaskGroup) -> None:
        slots = asyncio.Semaphore(_N_WORKERS)
        while True:
            name = await self._changes.get()
            waking = self._wakings.get(name)
            if waking is not None:
                waking.set()
            elif self.objects.node_class(name) is not None:
                self._wakings[name] = asyncio.Event()
                group.create_task(self._attend(name, slots))

    async def _attend(self, name: str, slots: asyncio.Semaphore) -> None:
        """Look at one class again and again, until it is gone."""
        waking = self._wakings[name]
        try:
            while self.objects.node_class(name) is not None:
                waking.clear()
                async with slots:
                    again_after = await self.look_at(name)
                await happens_within(waking, again_after.total_seconds(), self._timer)
        finally:
            del self._wakings[name]
            self._n_failed.pop(name, None)

    async def look_at(self, name: str) -> timedelta:
        """One pass over a class; when to look again."""
        try:
            again_after, has_faults = await self._reconcile(name)
        except Exception as error:  # noqa: BLE001  a class that fails must not stop the others
            self._report(name, error)
            again_after, has_faults = _LONGEST_WAIT, True
        if not has_faults:
            self._n_failed.pop(name, None)
            return again_after
        n_failed = self._n_failed[name] = self._n_failed.get(name, 0) + 1
        backoff = timedelta(seconds=_BACKOFF.seconds(n_failed, self._chance))
        return min(again_after, backoff)

    def _report(self, name: str, error: Exception) -> None:
        node_class = self.objects.node_class(name)
        if isinstance(error, ConflictError | NotFoundError):
            return  # somebody else was faster: the next pass sees the object as it is
        if isinstance(error, CallFailedError) and node_class is not None:
            self._reports.warn(node_class, str(error.failure), str(error))
        else:
            self._reports.trouble(f"updating EC2NodeClass {name}: {error!r}")

    async def _reconcile(self, name: str) -> tuple[timedelta, bool]:
        node_class = self.objects.node_class(name)
        if node_class is None:
            return _LONGEST_WAIT, False
        if node_class.metadata.deletion_timestamp is not None:
            return await self._finalize(node_class), False
        node_class = await self._stamp(node_class)
        result = await status_pass(node_class, self.parts.steps, self._clock)
        patch = status_patch(node_class, result.status)
        if patch is not None:
            self.objects.take_written(await self._kube.patch(Ref(NODE_CLASS, name), patch))
        for problem in result.problems:
            if problem.reason != DEPENDENCIES_NOT_READY:  # others report it
                self._reports.warn(node_class, problem.reason, problem.message)
        again_after = min(result.again_after or _LONGEST_WAIT, _LONGEST_WAIT)
        return again_after, bool(result.faults)

    # ------------------------------------------------------------ hashes

    async def _stamp(self, node_class: EC2NodeClass) -> EC2NodeClass:
        """Write the finalizer, and the hash on the class; where the rules of hashing changed, first
        on its claims.
        """
        hashed = node_class_hash(
            node_class,
            family=family_of(node_class.spec),
            ca_bundle=self._settings.cluster_ca_bundle,
        )
        meta = node_class.metadata
        if meta.annotations.get(HASH_VERSION_KEY) != HASH_VERSION:
            claims = self.objects.claims(meta.name)
            stamps = claim_stamps(claims, hashed=hashed, version=HASH_VERSION)
            for claim_name, patch in stamps.items():
                try:
                    await self._kube.patch(Ref(NODE_CLAIM, claim_name), patch)
                except NotFoundError:
                    continue
        stamp = stamp_patch(node_class, hashed=hashed, version=HASH_VERSION)
        if stamp is None:
            return node_class
        return self.objects.take_written(await self._kube.patch(Ref(NODE_CLASS, meta.name), stamp))

    # ------------------------------------------------------------ end of a class

    async def _finalize(self, node_class: EC2NodeClass) -> timedelta:
        if FINALIZER not in node_class.metadata.finalizers:
            return _LONGEST_WAIT
        claims = await self._claims_now(node_class.metadata.name)
        if claims:
            message = finalization.waiting_message(claims)
            self._reports.note(node_class, finalization.WAITING, message)
            return finalization.AGAIN_AFTER
        await self.parts.finalizer.clean_up(node_class)
        self.parts.validation.forget()
        name = node_class.metadata.name
        self.objects.take_written(
            await self._kube.patch(Ref(NODE_CLASS, name), release_patch(node_class))
        )
        return _LONGEST_WAIT

    async def _claims_now(self, name: str) -> tuple[api.NodeClaim, ...]:
        """The claims of a class by the API itself, since a claim may be newer than the watch."""
        page = await self._kube.list(Scope(NODE_CLAIM))
        claims = [api.decode(api.NodeClaim, bytes(raw)) for raw in page.items]
        return tuple(claim for claim in claims if is_of_class(claim, name))

    # ------------------------------------------------------------ timers

    async def _every(self, span: timedelta, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._timer.sleep(span.total_seconds())
            try:
                await work()
            except (ApiError, CallFailedError) as error:
                self._reports.trouble(str(error))

    async def collect_profiles(self) -> None:
        """Delete instance profiles that neither a class nor a claim has used for an hour."""
        in_use = {node_class.status.instance_profile for node_class in self.objects.classes()}
        in_use |= {
            claim.metadata.annotations.get(PROFILE_ANNOTATION, "")
            for claim in self.objects.claims()
        }
        deleted = await self.parts.profile_collector.collect(in_use)
        self._reports.log_done("deleted unused instance profiles", deleted)

    async def invalidate_images(self) -> None:
        """Forget SSM parameters whose image is deprecated."""
        forgotten = await self.parts.images.invalidate()
        self._reports.log_done("forgot parameters of deprecated images", forgotten)

    async def check_version(self) -> None:
        """Complain about a version of Kubernetes that there are no images for."""
        problem = unsupported_version(await self.parts.cluster.kubernetes_version())
        if problem:
            self._reports.trouble(problem)
