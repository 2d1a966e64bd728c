"""Follows a NodePool: what it launched and lost, and when it was changed."""

from __future__ import annotations

from collections import Counter
from typing import Final

from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Decision
from dovetail.present.explanation import launches_text, saving_of
from dovetail.present.history.happenings import Telling, departure_reason, is_going
from dovetail.present.table import listing, plural

_SILENT: Final = frozenset({"problems", "uid"})
_NO_DECISION: Final = "no decision"
_UNKNOWN: Final = "unknown"


class PoolHistory:
    """Follows one pool. `lost` counts nodes by the reason for which they went."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._telling = Telling()
        self.happenings = self._telling.happenings
        self._nodes: dict[str, str] = {}  # names by claim
        self._going: set[str] = set()
        self.pool: NodePool | None = None
        self.gone: Decision | None = None
        self.n_launched = 0
        self.lost: Counter[str] = Counter()

    def see(self, decision: Decision) -> None:
        """What the next decision tells of it."""
        pools = decision.snapshot.node_pools
        pool = next((item for item in pools if item.name == self._name), None)
        self._follow(decision, pool)
        self._count_nodes(decision)
        self._tell_launches(decision)
        self._tell_losses(decision)

    def _follow(self, decision: Decision, pool: NodePool | None) -> None:
        if pool is None:
            if self.pool is not None and self.gone is None:
                self._telling.say(decision, "gone")
                self.gone = decision
            return
        self.gone = None
        if self.pool is None:
            self._telling.say(decision, "first seen")
        elif pool is not self.pool:
            changed = [
                field.replace("_", " ")
                for field in pool.__struct_fields__
                if field not in _SILENT and getattr(pool, field) != getattr(self.pool, field)
            ]
            if changed:
                self._telling.say(decision, f"changed: {', '.join(changed)}")
        self.pool = pool

    def _count_nodes(self, decision: Decision) -> None:
        """Nodes that leave or vanish though no plan said so are worth a word."""
        ours = [node for node in decision.snapshot.nodes if node.node_pool == self._name]
        now = {node.node_claim or node.name: node for node in ours}
        for key, node in now.items():
            if key not in self._going and is_going(decision, node):
                reason = departure_reason(decision, node) or _UNKNOWN
                self._lose(decision, [key], reason, f"removes {node.name} for reason {reason}")
        gone = sorted(self._nodes.keys() - now.keys() - self._going)
        if gone:
            self._lose(
                decision, gone, _NO_DECISION, f"{listing(gone)} disappeared without a decision"
            )
        self._nodes = {key: node.name for key, node in now.items()}

    def _lose(self, decision: Decision, keys: list[str], reason: str, text: str) -> None:
        self._going |= set(keys)
        self.lost[reason] += len(keys)
        self._telling.say(decision, text)

    def _tell_launches(self, decision: Decision) -> None:
        launches = tuple(item for item in decision.plan.launches if item.node_pool == self._name)
        if launches:
            self.n_launched += len(launches)
            n_pods = sum(len(launch.pods) for launch in launches)
            text = f"launches {launches_text(launches)}, for {plural(n_pods, 'pod')}"
            self._telling.say(decision, text)

    def _tell_losses(self, decision: Decision) -> None:
        for going in decision.plan.disruptions:
            ours = {key: name for key, name in self._nodes.items() if name in going.nodes}
            if ours:
                self._going |= ours.keys()
                self.lost[going.reason] += len(ours)
                text = f"removes {listing(sorted(ours.values()))} for reason {going.reason}, which"
                self._telling.say(decision, f"{text} {saving_of(going)}")
            new = tuple(launch for launch in going.replacements if launch.node_pool == self._name)
            if new:
                self.n_launched += len(new)
                self._telling.say(decision, f"launches {launches_text(new)}, as replacements")
