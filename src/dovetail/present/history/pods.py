"""Follows a pod, decision by decision."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.model.plan import Disrupt, Plan
from dovetail.model.pod import Pod, PodKey
from dovetail.model.snapshot import Decision
from dovetail.present.history.happenings import Telling, departure_reason, is_going
from dovetail.present.plan import destinations
from dovetail.present.table import price

_PLANNED = "planned"
_PLACE = "place"
_ENDING = "ending"
_LEAVING = "leaving"


class PodHistory:
    """Follows one pod. `moved` is the disruption that last took its node from it."""

    def __init__(self, key: PodKey) -> None:
        self._key = key
        self._telling = Telling()
        self.happenings = self._telling.happenings
        self._place = 0  # where it stood in the last snapshot: mostly it still does
        self._is_there = False
        self.pod: Pod | None = None
        self.moved: tuple[Decision, Disrupt] | None = None
        self.left: str | None = None  # the reason for which its node was going when last seen
        self.gone: Decision | None = None

    def see(self, decision: Decision) -> None:
        """What the next decision tells of it."""
        pod = self._find(decision.snapshot.pods)
        if pod is None:
            self._miss(decision)
            return
        if self.pod is not None and pod.uid != self.pod.uid:
            self._telling.forget()
            self._telling.say(decision, "another pod of this name took its place")
        elif not self._is_there:
            self._telling.say(decision, f"first seen, {_state(pod)}")
            self._telling.mark(_PLACE, _runs(pod))
        self._is_there, self.pod, self.gone = True, pod, None
        self._follow(decision, pod)
        for sort, text in self._plans(decision):
            self._telling.say(decision, text, sort)

    def _find(self, pods: tuple[Pod, ...]) -> Pod | None:
        if self._place < len(pods) and pods[self._place].key == self._key:
            return pods[self._place]
        for place, pod in enumerate(pods):
            if pod.name == self._key.rpartition("/")[2] and pod.key == self._key:
                self._place = place
                return pod
        return None

    def _miss(self, decision: Decision) -> None:
        if self._is_there:
            self._telling.say(decision, "gone")
            self.gone = decision
        self._is_there = False

    def _follow(self, decision: Decision, pod: Pod) -> None:
        if pod.node_name:
            self._telling.say(decision, _runs(pod), _PLACE)
        node = next((item for item in decision.snapshot.nodes if item.name == pod.node_name), None)
        self.left = None
        if node is not None and is_going(decision, node):
            self.left = departure_reason(decision, node)
            word = f" for reason {self.left}" if self.left else ""
            self._telling.say(decision, f"node {node.name} is being removed{word}", _LEAVING)
        if pod.is_terminal:
            self._telling.say(decision, f"ended: {pod.phase}", _ENDING)
        elif pod.deleting_at is not None:
            self._telling.say(decision, "terminating", _ENDING)

    def _plans(self, decision: Decision) -> Iterator[tuple[str, str]]:
        plan = decision.plan
        for going in plan.disruptions:
            if self._key in going.pods:
                self.moved = (decision, going)
                yield _PLANNED, _move_text(going, self._key, self.pod)
        text = _planned_text(plan, self._key)
        if text:
            yield _PLANNED, text


def _runs(pod: Pod) -> str:
    return f"runs on node {pod.node_name}"


def _state(pod: Pod) -> str:
    return f"on node {pod.node_name}" if pod.node_name else "pending"


def _planned_text(plan: Plan, key: PodKey) -> str:
    """Where the plan puts a pod that waits, or why it cannot; nothing if it says neither."""
    for launch in plan.launches:
        if key in launch.pods:
            kind = f"{launch.instance_type} {launch.capacity_type} {launch.zone}"
            cost = f"of NodePool {launch.node_pool}, for {price(launch.price_nanousd)} an hour"
            return f"planned onto {launch.name}, a new node: {kind} {cost}"
    for place in plan.nominations:
        if key in place.pods:
            return f"planned onto {place.node}, which has room"
    for waiting in plan.unschedulable:
        if waiting.pod == key:
            return f"unschedulable: {waiting.summary}"
    return ""


def _move_text(going: Disrupt, key: PodKey, pod: Pod | None) -> str:
    node = pod.node_name if pod is not None else ""
    to = dict(destinations(going)).get(key, "")
    moves = f"it moves to {to}" if to else "it moves to any node with room"
    return f"node {node} is chosen for removal, for reason {going.reason}: {moves}"
