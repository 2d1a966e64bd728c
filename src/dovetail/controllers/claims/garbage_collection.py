"""Removes claims without an instance, and instances and Nodes without a claim, every two minutes.

Instances are listed before claims are read, and claims are read from the API itself, so that no
instance looks as if it had no claim because the claim is young.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from dovetail import api
from dovetail.actuate.writing import delete_claim, delete_instance, delete_node
from dovetail.cloud.provider import Instance
from dovetail.controllers.cache import NODE_CLAIM, WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.decide.lifecycle.claim import is_managed
from dovetail.decide.lifecycle.garbage import GarbageView, step
from dovetail.decide.lifecycle.step import Action, DeleteClaim, DeleteInstance, DeleteNode, Step
from dovetail.decide.lifecycle.timing import GARBAGE_PERIOD
from dovetail.errors import DovetailError, InputError
from dovetail.kube.seam import Scope
from dovetail.model.claim import ClaimObject, InstanceRecord, NodeObject
from dovetail.observe.cloud import on_behalf_of
from dovetail.observe.steps import count_deletions
from dovetail.state.objects import claim_object, node_class_ref, node_object

_NAME: Final = "nodeclaim.garbagecollection"
_PAGE: Final = 500
_AT_ONCE: Final = 20


class GarbageCollection:
    """Takes away what was left behind."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named(_NAME)
        self._supported = dependencies.node_classes
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._is_closing = False
        self._is_at_rest = asyncio.Event()
        self._is_at_rest.set()

    async def run(self) -> None:
        """Look now and every two minutes, until cancelled."""
        while not self._is_closing:
            self._is_at_rest.clear()
            try:
                with on_behalf_of(_NAME):
                    await self.collect()
            except DovetailError as error:
                self._log.error("could not look for what was left behind", error=error)
            finally:
                self._is_at_rest.set()
            await self._dependencies.timer.sleep(GARBAGE_PERIOD.total_seconds())

    async def finish(self) -> None:
        """Do not look again, and return when what was begun is done."""
        self._is_closing = True
        await self._is_at_rest.wait()

    async def collect(self) -> Step:
        """Look once, and take away what is found. Raises ApiError, CloudError."""
        instances = await self._dependencies.cloud.list()
        claims = await self._claims()
        result = step(
            GarbageView(claims, self._nodes(), tuple(map(_record, instances))),
            self._dependencies.clock.now(),
        )
        async with asyncio.TaskGroup() as group:
            doing = [group.create_task(self._perform(action)) for action in result.actions]
        done = tuple(
            action for action, task in zip(result.actions, doing, strict=True) if task.result()
        )
        count_deletions(
            self._dependencies.meters, {claim.name: claim for claim in claims}, Step(actions=done)
        )
        return result

    async def _perform(self, action: Action) -> bool:
        """Whether it was done; what could not be is found again next time."""
        async with self._slots:
            try:
                return await self._carry_out(action)
            except DovetailError as error:
                self._log.error("could not take away", what=str(action), error=error)
                return False

    async def _carry_out(self, action: Action) -> bool:
        match action:
            case DeleteClaim(claim=name):
                self._log.info("deleting node claim without an instance", node_claim=name)
                return await delete_claim(self._dependencies.kube, action)
            case DeleteInstance(provider_id=provider_id):
                self._log.info("deleting instance without a claim", provider_id=provider_id)
                await delete_instance(self._dependencies.cloud, action)
            case DeleteNode(node=name):
                self._log.info("deleting node without an instance", node=name)
                return await delete_node(self._dependencies.kube, action)
            case _:
                msg = f"no law of garbage orders {type(action).__name__}"
                raise TypeError(msg)
        return True

    async def _claims(self) -> tuple[ClaimObject, ...]:
        """Every claim of ours that the API has now."""
        claims: list[ClaimObject] = []
        token = ""
        while True:
            page = await self._dependencies.kube.list(Scope(NODE_CLAIM), limit=_PAGE, token=token)
            claims.extend(claim for raw in page.items if (claim := self._claim(raw)) is not None)
            token = page.token
            if not token:
                return tuple(claims)

    def _claim(self, raw: msgspec.Raw) -> ClaimObject | None:
        """A claim, if it is ours; one that makes no sense may be, and still has its instance."""
        try:
            wire = api.decode(api.NodeClaim, raw)
            if not is_managed(node_class_ref(wire.spec.node_class_ref), self._supported):
                return None
            return claim_object(wire)
        except InputError:
            meta = api.decode(api.Object, raw).metadata
            return ClaimObject(meta.name, meta.uid)

    def _nodes(self) -> tuple[NodeObject, ...]:
        nodes: list[NodeObject] = []
        for wire in self._cache.nodes.all():
            try:
                nodes.append(node_object(wire))
            except InputError:
                continue  # it is left alone, whatever it is
        return tuple(nodes)


def _record(instance: Instance) -> InstanceRecord:
    return InstanceRecord(
        provider_id=instance.provider_id,
        node_claim=instance.node_claim,
        node_claim_uid=instance.node_claim_uid,
        created_at=instance.created_at,
        is_terminating=instance.is_terminating,
    )
