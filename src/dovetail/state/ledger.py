"""Keeps the ledger: promises to pods, disruptions, failed launches and unavailable offerings.

A pod that a plan gave a node is not planned for again while that node starts and for a while after:
kube-scheduler needs time to bind. A promise ends early when the pod is bound, deleted or made anew,
and when its node vanishes or leaves.

A node that is being taken away stays marked until it is gone or the disruption is called off.
Failed launches and failed disruptions are counted here too, since they decide when to try again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final, assert_never

import msgspec

from dovetail.decide.endings import is_due, precedes
from dovetail.decide.lifecycle.launch import LaunchPause, next_launch_pause
from dovetail.decide.lifecycle.timing import DISRUPTION_BACKOFF
from dovetail.decide.nodes import is_leaving
from dovetail.model.ending import KnownEnding
from dovetail.model.ledger import Departure, Ledger, Nomination, Proposal, Refusal, Setback
from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodKey
from dovetail.state.changes import (
    NOTHING,
    Disrupting,
    DisruptionEnded,
    EndingAnnounced,
    EndingsPlanned,
    InstanceLaunchEnded,
    InstanceLaunchFailed,
    LedgerChange,
    PoolRefused,
    Proposed,
    Refused,
    Touched,
)
from dovetail.state.evictions import Tally
from dovetail.state.shelf import Key

REFUSED_FOR: Final = timedelta(minutes=3)
LEAST_NOMINATED_FOR: Final = timedelta(seconds=10)
# A pod that has to leave its node keeps its promise for as long as its node may take to drain.
MOVING_FOR: Final = timedelta(hours=1)
# An instance may be announced to end before its claim says which instance it has.
_UNKNOWN_FOR: Final = timedelta(minutes=15)
_N_NAMES: Final = 8  # a pod's status may still carry one of so many words of ours

_Offer = tuple[str, str, str, str]  # instance type, zone, capacity type, pool or nothing


class Promise(msgspec.Struct, frozen=True, gc=False):
    """A nomination. `target` is a node or, before it has one, a claim; `bound_to` is the node from
    which the pod will move, `is_starting` whether the target had yet to start when last seen.
    """

    uid: str
    target: str
    until: datetime
    bound_to: str
    is_starting: bool


class Promises:
    """One for each pod at most."""

    def __init__(self) -> None:
        self._by_pod: dict[Key, Promise] = {}
        self._pods_by_target: dict[str, dict[Key, None]] = {}

    def get(self, key: Key) -> Promise | None:
        """What a pod was promised."""
        return self._by_pod.get(key)

    def put(self, key: Key, promise: Promise) -> None:
        """A later promise takes the place of an earlier one."""
        self.drop(key)
        self._by_pod[key] = promise
        self._pods_by_target.setdefault(promise.target, {})[key] = None

    def drop(self, key: Key) -> None:
        """It is kept, or taken back."""
        promise = self._by_pod.pop(key, None)
        if promise is None:
            return
        pods = self._pods_by_target[promise.target]
        del pods[key]
        if not pods:
            del self._pods_by_target[promise.target]

    def pods(self, target: str) -> tuple[Key, ...]:
        """The pods that were promised this node."""
        return tuple(self._pods_by_target.get(target, ()))

    def items(self) -> Iterator[tuple[Key, Promise]]:
        """Every promise, in order of pods."""
        return iter(sorted(self._by_pod.items()))


def nominated_for(batch_max: timedelta) -> timedelta:
    """How long a nomination is believed: twice the longest batch window, and not too short."""
    return max(2 * batch_max, LEAST_NOMINATED_FOR)


class Book:
    """Nominations, refusals, failed attempts, proposals and disruptions under way, and which
    nominations in pods' statuses are ours.
    """

    def __init__(self, believed_for: timedelta) -> None:
        self._believed_for = believed_for
        self._promises = Promises()
        self._until_by_offer: dict[_Offer, datetime] = {}
        self._proposals: tuple[Proposal, ...] = ()
        self.evictions = Tally()
        self._departures: dict[str, Departure] = {}
        self._departing_claims: dict[str, str] = {}  # UIDs, by node
        self._setbacks: dict[str, datetime] = {}
        self._n_failed_disruptions: dict[str, int] = {}  # in a row, by node
        self._n_failed_launches: dict[str, int] = {}  # in a row, by the claim's UID
        self._launch_pauses: dict[str, LaunchPause] = {}  # by pool
        self._endings: dict[str, KnownEnding] = {}  # by provider id
        self._ending_nodes: set[str] = set()  # provider ids of those that a node had
        self._names_by_uid: dict[str, tuple[str, ...]] = {}  # nodes we named to a pod lately
        self._carried: dict[Key, tuple[str, str]] = {}  # the uid, and our word in its status
        self._nodes: tuple[Node, ...] = ()
        self._nodes_by_name: dict[str, Node] = {}  # claims' names too
        self._ledger = Ledger()

    def nominate(self, key: Key, pod: Pod, target: str, at: datetime) -> None:
        """Promise a pod its node; a later promise takes the place of an earlier one."""
        until = at + (MOVING_FOR if pod.node_name else self._believed_for)
        node = self._nodes_by_name.get(target)
        is_starting = node is None or not node.is_initialized
        self._promises.put(key, Promise(pod.uid, target, until, pod.node_name, is_starting))
        if not pod.is_virtual:  # those carry no word of ours
            self._name(pod.uid, target)

    def _name(self, uid: str, node: str) -> None:
        named = self._names_by_uid.get(uid, ())
        if node not in named:
            self._names_by_uid[uid] = (*named, node)[-_N_NAMES:]

    def adopt(self, key: Key, pod: Pod, at: datetime) -> Pod:
        """Take the nomination in a pod's status for our own, made now; the pod without it."""
        if not pod.nominated_node_name or pod.node_name:
            return pod
        self.nominate(key, pod, pod.nominated_node_name, at)
        return self.read(key, pod)

    def withdraw(self, key: Key) -> None:
        """Take a promise back."""
        self._promises.drop(key)

    def withdraw_all(self, target: str) -> None:
        """Take back every promise of a node that will not come."""
        for key in self._promises.pods(target):
            self._promises.drop(key)

    def promised_to(self, *targets: str) -> tuple[PodKey, ...]:
        """The pods that are meant for a node, by its name or its claim's."""
        return tuple(
            f"{key[0]}/{key[1]}"
            for target in dict.fromkeys(targets)
            for key in self._promises.pods(target)
        )

    def apply(self, change: LedgerChange) -> Touched:
        """Write down what became of something that was decided; what that could matter to."""
        match change:
            case Refused():
                offer = (change.instance_type, change.zone, change.capacity_type, "")
                self._until_by_offer[offer] = change.at + REFUSED_FOR
                return Touched.PENDING
            case PoolRefused():
                self._refuse_pool(change)
                return Touched.PENDING
            case InstanceLaunchFailed(node_claim_uid=uid):
                self._n_failed_launches[uid] = self.n_failed_launches(uid) + 1
                return NOTHING
            case InstanceLaunchEnded(node_claim_uid=uid):
                self._n_failed_launches.pop(uid, None)
                return NOTHING
            case EndingAnnounced():
                return self._announce(change)
            case EndingsPlanned():
                self._plan_for(change.provider_ids)
                return NOTHING
            case _:
                return self._apply_disruption(change)

    def _apply_disruption(self, change: Proposed | Disrupting | DisruptionEnded) -> Touched:
        match change:
            case Proposed():  # the clock waits for it: `Plan.wake_at` says until when
                self._proposals = change.proposals
                return NOTHING
            case Disrupting():  # nodes that are being taken away already keep their reason
                for node in change.nodes:
                    departure = Departure(node, change.reason, change.at)
                    self._departures.setdefault(node, departure)
                    self._departing_claims[node] = change.node_claim_uid
                return Touched.NODES
            case DisruptionEnded():
                self._end_disruption(change.nodes, change.failed_at)
                return Touched.NODES
            case _:
                assert_never(change)

    def _announce(self, announced: EndingAnnounced) -> Touched:
        """Write down that an instance will be gone. Saying it again changes nothing."""
        ending, now = announced.ending, announced.at
        known = self._endings.get(ending.provider_id)
        if not ending.provider_id:  # no instance has an empty id
            return NOTHING
        if known is not None and (known.ending == ending or precedes(known.ending, ending)):
            return NOTHING
        was_due = known is not None and is_due(known.ending, now)
        is_planned = known is not None and known.is_planned
        self._endings[ending.provider_id] = KnownEnding(ending, now, is_planned)
        if ending.reclaimed is not None:
            offering = ending.reclaimed
            offer = (offering.instance_type, offering.zone, offering.capacity_type, "")
            self._until_by_offer[offer] = now + REFUSED_FOR
        # More may be announced with it: a decision waits for them as for new pods.
        is_new = is_due(ending, now) and not was_due
        return Touched.NODES | Touched.PENDING if is_new else Touched.NODES

    def ending(self, provider_id: str) -> KnownEnding | None:
        """How an instance will end, if its provider has announced that."""
        return self._endings.get(provider_id)

    def _plan_for(self, provider_ids: Iterable[str]) -> None:
        for provider_id in provider_ids:
            known = self._endings.get(provider_id)
            if known is not None and not known.is_planned:
                self._endings[provider_id] = msgspec.structs.replace(known, is_planned=True)

    def _forget_endings(self, now: datetime) -> None:
        """Those of instances that are gone, and those of instances that never showed up."""
        here = {node.provider_id for node in self._nodes if node.provider_id}
        for provider_id, known in list(self._endings.items()):
            if provider_id in here:
                self._ending_nodes.add(provider_id)
            elif provider_id in self._ending_nodes or now - known.announced_at >= _UNKNOWN_FOR:
                del self._endings[provider_id]
                self._ending_nodes.discard(provider_id)

    def _refuse_pool(self, refused: PoolRefused) -> None:
        pool, now = refused.node_pool, refused.at
        pause = self._launch_pauses[pool] = next_launch_pause(self._launch_pauses.get(pool), now)
        for offering in refused.offerings:
            self._until_by_offer[(*offering, pool)] = pause.until

    def _end_disruption(self, nodes: Iterable[str], failed_at: datetime | None = None) -> None:
        for node in nodes:
            self._departures.pop(node, None)
            self._departing_claims.pop(node, None)
            if failed_at is not None:
                n_failures = self._n_failed_disruptions[node] = (
                    self._n_failed_disruptions.get(node, 0) + 1
                )
                self._setbacks[node] = DISRUPTION_BACKOFF.again_at(failed_at, n_failures)

    def n_failed_launches(self, claim_uid: str) -> int:
        """How often in a row the instance of a claim could not be launched."""
        return self._n_failed_launches.get(claim_uid, 0)

    def departing_claim(self, node: str) -> str:
        """The UID of the claim whose node of this name is being taken away; empty if none is."""
        return self._departing_claims.get(node, "")

    def read(self, key: Key, pod: Pod) -> Pod:
        """The pod without a nomination that is ours: to decisions it would look like preemption."""
        word = pod.nominated_node_name
        if not word or word not in self._names_by_uid.get(pod.uid, ()):
            self._carried.pop(key, None)
            return pod
        self._carried[key] = (pod.uid, word)
        return msgspec.structs.replace(pod, nominated_node_name="")

    def follow(self, key: Key, before: Pod | None, after: Pod | None) -> None:
        """A pod has changed: what was promised to it may be settled."""
        if before is not None and (after is None or after.uid != before.uid or after.node_name):
            self._names_by_uid.pop(before.uid, None)
        if after is None or after.node_name:
            self._carried.pop(key, None)
        promise = self._promises.get(key)
        if promise is None:
            return
        if after is None or after.uid != promise.uid or after.node_name != promise.bound_to:
            self._promises.drop(key)

    def stale(self) -> tuple[tuple[PodKey, str], ...]:
        """Pods whose status names a node that we named but no longer mean, with that node."""
        result = []
        for key, (uid, word) in sorted(self._carried.items()):
            promise = self._promises.get(key)
            if promise is None or promise.uid != uid or promise.target != word:
                result.append((f"{key[0]}/{key[1]}", word))
        return tuple(result)

    def ledger(self, nodes: tuple[Node, ...], reserved: Mapping[str, int], now: datetime) -> Ledger:
        """What decisions are to know; what has run out is forgotten."""
        if nodes is not self._nodes:
            by_name = {node.node_claim: node for node in nodes if node.node_claim}
            self._nodes_by_name = by_name | {node.name: node for node in nodes}
            self._nodes = nodes
        self._settle(now)
        endings = [known.ending for _, known in sorted(self._endings.items())]
        fresh = Ledger(
            nominations=tuple(
                Nomination(promise.uid, promise.target, promise.until)
                for _, promise in self._promises.items()
            ),
            refusals=tuple(
                Refusal(*offer[:3], until, offer[3])
                for offer, until in sorted(self._until_by_offer.items())
            ),
            reserved_by_id=reserved,
            proposals=self._proposals,
            evictions=self.evictions.in_order(now),
            disrupting=tuple(departure for _, departure in sorted(self._departures.items())),
            setbacks=tuple(Setback(*setback) for setback in sorted(self._setbacks.items())),
            endings=tuple(ending for ending in endings if is_due(ending, now)),
            later_endings=tuple(ending for ending in endings if not is_due(ending, now)),
        )
        self._ledger = self._ledger if fresh == self._ledger else fresh
        return self._ledger

    def _settle(self, now: datetime) -> None:
        here = self._nodes_by_name
        self._end_disruption([name for name in self._departures if name not in here])
        self._forget_endings(now)
        self._n_failed_disruptions = {
            name: n for name, n in self._n_failed_disruptions.items() if name in here
        }
        self._setbacks = {
            name: until
            for name, until in self._setbacks.items()
            if until > now and name in self._nodes_by_name
        }
        for key, promise in list(self._promises.items()):
            kept = self._current_promise(promise, self._nodes_by_name.get(promise.target), now)
            if kept is None:
                self._promises.drop(key)
            elif kept is not promise:
                self._promises.put(key, kept)
                if kept.uid in self._names_by_uid:
                    self._name(kept.uid, kept.target)
        for offer, until in list(self._until_by_offer.items()):
            if until <= now:
                del self._until_by_offer[offer]

    def _is_going(self, node: Node, now: datetime) -> bool:
        known = self._endings.get(node.provider_id)
        is_marked = node.name in self._departures
        return is_marked or is_leaving(node) or (known is not None and is_due(known.ending, now))

    def _is_moving(self, promise: Promise, now: datetime) -> bool:
        """Whether the pod still has to go: its node leaves, or is gone, or it has none."""
        node = self._nodes_by_name.get(promise.bound_to)
        return node is None or self._is_going(node, now)

    def _current_promise(
        self, promise: Promise, node: Node | None, now: datetime
    ) -> Promise | None:
        """A promise as it stands now: while its node starts it does not run out, and once the node
        has started it lasts the whole time again.
        """
        if node is None or self._is_going(node, now) or not self._is_moving(promise, now):
            return None
        is_starting = not node.is_initialized
        until = promise.until
        if promise.is_starting or is_starting:
            until = max(until, now + self._believed_for)
        if until <= now:
            return None
        if (is_starting, until, node.name) == (promise.is_starting, promise.until, promise.target):
            return promise
        return msgspec.structs.replace(
            promise, target=node.name, until=until, is_starting=is_starting
        )
