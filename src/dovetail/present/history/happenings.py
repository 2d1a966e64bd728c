"""Defines what happened to an object, when, and in which decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, Protocol

import msgspec

from dovetail.model.node import Node
from dovetail.model.snapshot import Decision
from dovetail.present.explanation import Section
from dovetail.present.plan import Json, instant

EXPIRED: Final = "Expired"


def is_going(decision: Decision, node: Node) -> bool:
    """Whether somebody has begun to take it away."""
    return node.deleting_at is not None or any(
        departure.node == node.name for departure in decision.snapshot.ledger.disrupting
    )


def departure_reason(decision: Decision, node: Node) -> str:
    """Why a node goes: what was noted of it, else its age; nothing if nobody knows."""
    for departure in decision.snapshot.ledger.disrupting:
        if departure.node == node.name:
            return departure.reason
    pool = next(
        (item for item in decision.snapshot.node_pools if item.name == node.node_pool), None
    )
    if pool is None or pool.expire_after is None or node.created_at is None:
        return ""
    is_old = node.created_at + pool.expire_after <= (node.deleting_at or decision.now)
    return EXPIRED if is_old else ""


class Happening(msgspec.Struct, frozen=True, gc=False):
    """Something that a decision saw or did."""

    at: datetime
    number: int
    text: str


class Decided(Protocol):
    """Decisions to look back upon, all or those up to a moment."""

    def oldest_first(
        self, until: datetime | None = None, since: datetime | None = None
    ) -> Iterator[Decision]:
        """One after the other; those before `since` may be left out."""
        ...

    def newest_first(self, until: datetime | None = None) -> Iterator[Decision]:
        """The last one first."""
        ...


class Telling:
    """Takes down what happens. The same is said once, until something else of its sort happens."""

    def __init__(self) -> None:
        self.happenings: list[Happening] = []
        self._said: dict[str, str] = {}

    def say(self, decision: Decision, text: str, sort: str = "") -> None:
        """This happened; of the same sort, only what is new counts."""
        if sort and self._said.get(sort) == text:
            return
        self.mark(sort, text)
        self.happenings.append(Happening(decision.now, decision.number, text))

    def mark(self, sort: str, text: str) -> None:
        """This need not be said any more."""
        self._said[sort] = text

    def forget(self) -> None:
        """Everything would be news again."""
        self._said.clear()


def decision_of(number: int, at: datetime) -> str:
    """How sentences name a decision."""
    return f"decision {number} of {moment(at)}"


def moment(at: datetime) -> str:
    """To the second: people do not read further."""
    return instant(at.replace(microsecond=0))


def history(happenings: Iterable[Happening]) -> Section:
    """All of it, as a table."""
    rows = tuple((moment(item.at), str(item.number), item.text) for item in happenings)
    return Section("History", columns=("when", "decision", "what happened"), rows=rows)


def history_json(happenings: Sequence[Happening]) -> Json:
    """The same for scripts."""
    return [
        {"at": instant(happening.at), "decision": happening.number, "what": happening.text}
        for happening in happenings
    ]
