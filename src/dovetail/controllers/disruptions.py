"""How is a node taken away that a plan wants gone? Fenced, looked at once more, then deleted.

(spec/core.md 6.12) All candidates go through each phase side by side; one that drops out is put
back as it was, the others go on. Nothing needs to be remembered: what a process leaves behind that
dies is either a claim that is being deleted, or a fence that nobody stands behind, which `tidy`
takes down, at the start and now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from dovetail import api
from dovetail.actuate.disrupting import fence, give_reason, take_back_reason, unfence
from dovetail.actuate.doing import delete_claim
from dovetail.actuate.writing import Answers
from dovetail.controllers.known import NODE, NODE_CLAIM, POD, Known
from dovetail.controllers.means import Means
from dovetail.decide.disrupt.emptiness import is_empty
from dovetail.decide.lifecycle.actions import DeleteClaim
from dovetail.decide.lifecycle.conditions import DISRUPTION_REASON, Status
from dovetail.decide.lifecycle.draining import DISRUPTED
from dovetail.decide.lifecycle.hydration import is_managed_node
from dovetail.decide.lifecycle.step import Event
from dovetail.errors import DovetailError, InputError
from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Scope
from dovetail.model.plan import Disrupt, DisruptionReason
from dovetail.model.pool import NodeClassRef
from dovetail.observe.steps import count_disrupted, snake_case
from dovetail.state.changes import Disrupting, DisruptionEnded
from dovetail.state.objects import claim_object, node_object

TERMINATING_EVENT: Final = "DisruptionTerminating"
DELETE: Final = "delete"
_AT_ONCE: Final = 50  # nodes of one disruption that are written about
_TIDY_SECONDS: Final = 30.0
_TIDYING: Final = ""  # in place of a claim's uid


class _Candidate(msgspec.Struct, frozen=True):
    """A node to be taken away, and its claim, as they were known when that began."""

    node: api.Node
    claim: api.NodeClaim
    reason: str

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.metadata.name


class Disruptions:
    """Takes nodes away, and puts back what nobody takes away any more."""

    def __init__(self, means: Means, known: Known) -> None:
        self._means = means
        self._known = known
        self._log = means.log.named("disruption")
        self._supported = tuple(
            NodeClassRef(one.group, one.kind) for one in means.cloud.supported_node_classes
        )
        self._under_way: dict[str, str] = {}  # the claim's uid by the Node's name
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._is_closing = False
        self._is_at_rest = asyncio.Event()
        self._is_at_rest.set()

    async def run(self) -> None:
        """Tidy up now and then, until cancelled."""
        while not self._is_closing:
            self._is_at_rest.clear()
            try:
                await self.tidy()
            finally:
                self._is_at_rest.set()
            await self._means.timer.sleep(_TIDY_SECONDS)

    async def finish(self) -> None:
        """Tidy up no more, and return when what was begun is done."""
        self._is_closing = True
        await self._is_at_rest.wait()

    async def begin(self, disrupt: Disrupt) -> bool:
        """Take these nodes away, as far as that is still right. Whatever fails is told, and put
        back; nothing is raised. Whether nothing failed: what did is worth another try.
        """
        if disrupt.replacements:  # no node goes before its replacement is ready
            self._log.error("cannot replace nodes", nodes=disrupt.nodes)
            return True
        self._settle()
        found = (self._candidate(name, disrupt.reason) for name in disrupt.nodes)
        candidates = [one for one in found if one is not None]
        if not candidates:
            return True
        for one in candidates:
            self._under_way[one.name] = one.claim.metadata.uid
        now = self._means.clock.now()
        names = tuple(one.name for one in candidates)
        self._known.cluster.apply(Disrupting(names, disrupt.reason, now))
        failed: list[str] = []
        try:
            for phase in (self._mark, self._confirm, self._delete):
                candidates = await self._each(phase, candidates, failed)
        except BaseException:  # cut short: what is left over is taken down by `tidy`
            self._drop(names)
            raise
        if candidates:
            self._tell(disrupt, candidates)
        return not failed

    def _drop(self, names: Iterable[str]) -> None:
        """These are not being taken away any more."""
        for name in names:
            self._under_way.pop(name, None)
        self._known.cluster.apply(DisruptionEnded(tuple(names)))

    async def tidy(self) -> None:
        """Take down fences and reasons that nobody stands behind. What fails is told, and tried
        the next time. Only once everything is known.
        """
        self._settle()
        nodes = [one for one in self._known.nodes() if self._is_left_over(one)]
        founded = set(self._under_way.values())
        claims = [one for one in self._known.claims() if _is_unfounded(one, founded)]
        places = {one.spec.provider_id for one in nodes} | {
            one.status.provider_id for one in claims
        }
        held = {one.metadata.name for place in places for one in self._known.nodes_with(place)}
        self._under_way |= dict.fromkeys(held, _TIDYING)  # nobody begins anything with these
        try:
            async with asyncio.TaskGroup() as group:
                for node in nodes:
                    group.create_task(self._put_back(node, None))
                for claim in claims:
                    group.create_task(self._put_back(None, claim))
        finally:
            for name in held:
                self._under_way.pop(name, None)

    # ---- who

    def _candidate(self, name: str, reason: str) -> _Candidate | None:
        """The node with its claim, unless it is leaving already or it is not clear whose it is."""
        node = self._known.node(name)
        claims = () if node is None else self._known.claims_with(node.spec.provider_id)
        if node is None or len(claims) != 1 or name in self._under_way:
            return None
        if _is_deleted(node) or _is_deleted(claims[0]):
            return None
        return _Candidate(node, claims[0], reason)

    def _settle(self) -> None:
        """Forget nodes whose claims are seen to be going: they look after themselves."""
        for name, uid in list(self._under_way.items()):
            if uid == _TIDYING:
                continue
            node = self._known.node(name)
            claims = () if node is None else self._known.claims_with(node.spec.provider_id)
            if not any(one.metadata.uid == uid and not _is_deleted(one) for one in claims):
                del self._under_way[name]

    def _is_left_over(self, node: api.Node) -> bool:
        if not any(one.key == DISRUPTED.key for one in node.spec.taints) or _is_deleted(node):
            return False
        if node.metadata.name in self._under_way:
            return False
        if any(_is_deleted(one) for one in self._known.claims_with(node.spec.provider_id)):
            return False
        try:
            return is_managed_node(node_object(node), self._supported)
        except InputError:
            return False  # it is left alone, whatever it is

    # ---- phases

    async def _each(
        self,
        phase: Callable[[_Candidate], Awaitable[bool]],
        candidates: Iterable[_Candidate],
        failed: list[str],
    ) -> list[_Candidate]:
        """Those that come through; the others are put back as they were. `failed` is added to."""

        async def through(one: _Candidate) -> bool:
            async with self._slots:
                try:
                    is_through = await phase(one)
                except DovetailError as error:
                    self._log.error("disrupting node failed", node=one.name, error=str(error))
                    labelled = _labels(one.reason)
                    self._means.meters.voluntary_disruption_queue_failures_total.labels(
                        **labelled
                    ).inc()
                    failed.append(one.name)
                    is_through = False
                if not is_through:
                    await self._give_up(one)
                return is_through

        async with asyncio.TaskGroup() as group:
            tasks = [(one, group.create_task(through(one))) for one in candidates]
        return [one for one, task in tasks if task.result()]

    async def _mark(self, one: _Candidate) -> bool:
        kube, now = self._means.kube, self._means.clock.now()
        self._put(NODE, await fence(kube, one.node))
        self._put(NODE_CLAIM, await give_reason(kube, one.claim, one.reason, now))
        return True

    async def _confirm(self, one: _Candidate) -> bool:
        """Whether no pod has come before the fence was up: by the API's own word, not by what we
        may hear of late.
        """
        if one.reason != DisruptionReason.EMPTY:
            return True
        page = await self._means.kube.list(Scope(POD, fields=f"spec.nodeName={one.name}"))
        self._put(POD, page.items)
        if is_empty(self._known.pods_on(one.name)):
            return True
        self._means.meters.voluntary_disruption_failed_validations_total.labels(
            consolidation_type=_labels(one.reason)["consolidation_type"]
        ).inc()
        self._log.info("node is empty no more", node=one.name)
        return False

    async def _delete(self, one: _Candidate) -> bool:
        meta = one.claim.metadata
        await delete_claim(self._means.kube, DeleteClaim(meta.name, meta.uid, one.reason))
        return True

    async def _give_up(self, one: _Candidate) -> None:
        node, claim = self._known.node(one.name), self._known.claim(one.claim.metadata.name)
        await self._put_back(node, claim)
        self._drop((one.name,))

    async def _put_back(self, node: api.Node | None, claim: api.NodeClaim | None) -> None:
        """Take down a fence, take back a reason. What fails is left to `tidy`."""
        kube, now = self._means.kube, self._means.clock.now()
        try:
            if node is not None:
                self._put(NODE, await unfence(kube, node))
            if claim is not None and _has_reason(claim):
                self._put(NODE_CLAIM, await take_back_reason(kube, claim, now))
        except NotFoundError:
            return  # there is nothing left to put back
        except DovetailError as error:
            self._log.error("putting back a node failed", error=str(error))

    def _put(self, kind: api.Kind, answers: Answers) -> None:
        for raw in answers:
            self._known.put(kind, raw)

    # ---- telling

    def _tell(self, disrupt: Disrupt, gone: list[_Candidate]) -> None:
        message = f"Disrupting node: {disrupt.reason}"
        for one in gone:
            for kind, meta in (("Node", one.node.metadata), ("NodeClaim", one.claim.metadata)):
                event = Event(kind, meta.name, TERMINATING_EVENT, message, uid=meta.uid)
                self._means.recorder.tell(event)
        self._count(disrupt, gone)
        self._log.info(
            "disrupting node(s)",
            reason=snake_case(disrupt.reason),
            decision=DELETE,
            **{
                "disrupted-node-count": len(gone),
                "replacement-node-count": len(disrupt.replacements),
                "pod-count": len(disrupt.pods),
                "disrupted-nodes": [one.name for one in gone],
                "savings_per_hour": disrupt.saving_nanousd / 1e9,
            },
        )

    def _count(self, disrupt: Disrupt, gone: list[_Candidate]) -> None:
        meters = self._means.meters
        labelled = _labels(disrupt.reason)
        meters.voluntary_disruption_decisions_total.labels(**labelled).inc()
        claims = [claim_object(one.claim) for one in gone]
        for pool in sorted({one.node_pool for one in claims}):
            meters.voluntary_disruption_decisions_by_nodepool_total.labels(
                nodepool=pool, **labelled
            ).inc()
        for one, claim in zip(gone, claims, strict=True):
            n_pods = sum(not is_empty([pod]) for pod in self._known.pods_on(one.name))
            count_disrupted(meters, claim, disrupt.reason, n_pods=n_pods)


def _is_deleted(held: api.Object) -> bool:
    return held.metadata.deletion_timestamp is not None


def _is_unfounded(claim: api.NodeClaim, founded: set[str]) -> bool:
    return _has_reason(claim) and not _is_deleted(claim) and claim.metadata.uid not in founded


def _has_reason(claim: api.NodeClaim) -> bool:
    return any(
        one.type == DISRUPTION_REASON and one.status == Status.TRUE
        for one in claim.status.conditions
    )


def _labels(reason: str) -> dict[str, str]:
    """How metrics name a decision."""
    is_empty_type = reason == DisruptionReason.EMPTY
    return {
        "decision": DELETE,
        "reason": snake_case(reason),
        "consolidation_type": "empty" if is_empty_type else "",
    }
