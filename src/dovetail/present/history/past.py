"""Explains an object as of a moment, from recorded decisions, also if it is gone.

First it is looked for, newest decision first: who asks about something that is gone means the last
of that name. Then its life is followed from the oldest decision on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final, assert_never

import msgspec

from dovetail.errors import InputError
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Decision
from dovetail.present.answer import answer
from dovetail.present.explanation import Explanation, Section
from dovetail.present.history.happenings import Decided, decision_of, history, history_json
from dovetail.present.history.lives import birth_sections, end_lines, end_verdict, life_json
from dovetail.present.history.nodes import NodeHistory
from dovetail.present.history.pods import PodHistory
from dovetail.present.history.pools import PoolHistory
from dovetail.present.lookup import LookupSubject, SubjectKind, find
from dovetail.present.plan import Json, claim_json, instant
from dovetail.present.table import plural

_EARLIER: Final = timedelta(hours=1)  # by so much an order may be older than what came of it
Known = Pod | Node | NodePool | Launch


class Meant(msgspec.Struct, frozen=True):
    """The moment that is asked about, and the object in the last decision that has it."""

    moment: Decision
    seen: Decision
    object: Known

    @property
    def is_gone(self) -> bool:
        """Whether it is no more at that moment."""
        return self.seen.number != self.moment.number


def which(asked: LookupSubject, decided: Decided, until: datetime | None) -> Meant:
    """The object that is meant, as of the last decision up to a moment. Raises InputError."""
    moment: Decision | None = None
    for decision in decided.newest_first(until):
        moment = moment or decision
        item = _find_in(asked, decision)
        if item is not None:
            return Meant(moment, decision, item)
    if moment is None:
        when = "" if until is None else f" up to {instant(until)}"
        msg = f"the journal has no decision{when} that can be read"
        raise InputError(msg)
    try:
        find(asked, moment.snapshot)
    except InputError as error:
        msg = f"{error} ({decision_of(moment.number, moment.now)}, nor any before it)"
        raise InputError(msg) from None
    raise AssertionError(asked)


def _find_in(asked: LookupSubject, decision: Decision) -> Known | None:
    """The object in a decision. Of nodes and claims either name will do."""
    match asked.kind:
        case SubjectKind.POD:
            return _pod(asked, decision)
        case SubjectKind.NODE | SubjectKind.NODE_CLAIM:
            return _node(asked.name, decision)
        case SubjectKind.NODE_POOL:
            pools = decision.snapshot.node_pools
            return next((pool for pool in pools if pool.name == asked.name), None)
        case unknown:
            assert_never(unknown)


def _pod(asked: LookupSubject, decision: Decision) -> Pod | None:
    alike = [
        pod
        for pod in decision.snapshot.pods
        if pod.name == asked.name and asked.namespace in ("", pod.namespace)
    ]
    if len(alike) > 1:
        find(asked, decision.snapshot)  # says which there are
    return alike[0] if alike else None


def _node(name: str, decision: Decision) -> Node | Launch | None:
    for node in decision.snapshot.nodes:
        if name in (node.name, node.node_claim):
            return node
    replacements = (launch for going in decision.plan.disruptions for launch in going.replacements)
    launches = (*decision.plan.launches, *replacements)
    return next((launch for launch in launches if launch.name == name), None)


def since(meant: Meant) -> datetime | None:
    """From when on it may have been heard of; None if that may be any time.

    Pods of a StatefulSet have lives before this one, under the same name.
    """
    match meant.object:
        case Pod(owner=owner, created_at=at):
            is_numbered = owner is not None and owner.kind == "StatefulSet"
            return None if at is None or is_numbered else at - _EARLIER
        case Node(created_at=at):
            return None if at is None else at - _EARLIER
        case Launch():
            return meant.seen.now - _EARLIER
        case NodePool():
            return None
        case unknown:
            assert_never(unknown)


Tell = Callable[[str], None]
_History = PodHistory | NodeHistory | PoolHistory


def explain(
    asked: LookupSubject, decided: Decided, until: datetime | None, tell: Tell
) -> Explanation:
    """The whole answer as of the last decision, or the last up to a moment. Raises InputError."""
    tell(f"looking for {asked.kind}/{asked.name}")
    meant = which(asked, decided, until)
    life = _life(meant.object)
    for decision in decided.oldest_first(until, since(meant)):
        tell(f"reading {decision_of(decision.number, decision.now)}")
        life.see(decision)
    told = _explanation_of(meant, asked)
    facts = (*told.facts, *_moments(meant))
    return msgspec.structs.replace(
        told,
        facts=facts,
        verdict=_verdict(meant, told.verdict, life),
        sections=(
            *_sections(meant, told, life),
            *([history(life.happenings)] if life.happenings else ()),
        ),
        data={
            **told.data,
            "asOf": {"decision": meant.moment.number, "at": instant(meant.moment.now)},
            "isGone": meant.is_gone,
            **_life_json(life),
            "history": history_json(life.happenings),
        },
    )


def _life(known: Known) -> _History:
    match known:
        case Pod():
            return PodHistory(known.key)
        case Node():
            return NodeHistory(known.name, known.node_claim)
        case Launch():
            return NodeHistory(known.name)
        case NodePool():
            return PoolHistory(known.name)
        case unknown:
            assert_never(unknown)


def _moments(meant: Meant) -> Iterator[tuple[str, str]]:
    if meant.is_gone:
        yield "last seen", decision_of(meant.seen.number, meant.seen.now)
    yield "as of", decision_of(meant.moment.number, meant.moment.now)


def _explanation_of(meant: Meant, asked: LookupSubject) -> Explanation:
    """What the last decision that has it says of it."""
    if isinstance(meant.object, Launch):
        launch = meant.object
        instance = f"{launch.instance_type} {launch.capacity_type} {launch.zone}"
        facts = (("node", instance), ("managed by", f"NodePool {launch.node_pool}"))
        verdict = "It was created, and no node has registered yet."
        title = f"{asked.kind}/{launch.name}"
        return Explanation(title, facts, verdict, (), {"ordered": claim_json(launch)})
    seen = meant.seen
    told = answer(meant.object, seen.snapshot, seen.plan, seen.now)
    if asked.kind is SubjectKind.NODE_CLAIM:
        return msgspec.structs.replace(told, title=f"nodeclaim/{asked.name}")
    return told


def _verdict(meant: Meant, verdict: str, life: _History) -> str:
    if not meant.is_gone:
        return _leaving_text(life, meant) or verdict
    match life:
        case NodeHistory():
            return end_verdict(life) or verdict
        case PodHistory():
            return _past_pod(life)
        case PoolHistory():
            gone = life.gone
            since = f" since {decision_of(gone.number, gone.now)}" if gone is not None else ""
            return f"It has been gone{since}." if since else "It is gone."
        case unknown:
            assert_never(unknown)


def _leaving_text(life: _History, meant: Meant) -> str:
    """That a node is on its way out, which a decision before this one has begun."""
    if not isinstance(life, NodeHistory) or life.end is None:
        return ""
    is_news = life.end.disrupt is not None and life.end.decision.number == meant.moment.number
    return "" if is_news else f"It is being removed. {next(end_lines(life.end))}"


def _past_pod(life: PodHistory) -> str:
    if life.pod is None or life.gone is None:
        return "It is gone."
    since = f"It has been gone since {decision_of(life.gone.number, life.gone.now)}."
    if life.moved is None and life.left is not None:
        reason = life.left or "unknown"
        return f"{since} Its node {life.pod.node_name} was being removed, for reason {reason}."
    if life.moved is None:
        place = f"It ran on node {life.pod.node_name}." if life.pod.node_name else "It had no node."
        return f"{since} {place} No decision of this journal moved it."
    decision, going = life.moved
    which = decision_of(decision.number, decision.now)
    return (
        f"{since} Its node {life.pod.node_name} was removed for reason {going.reason}, by {which}."
    )


def _sections(meant: Meant, told: Explanation, life: _History) -> Iterator[Section]:
    is_settled = isinstance(life, NodeHistory) and life.end is not None
    if not meant.is_gone:
        yield from told.sections
    elif not is_settled and not isinstance(meant.object, Launch):
        yield Section("When it was last seen", (told.verdict,))
    if isinstance(life, NodeHistory):
        if life.birth is not None:
            yield from birth_sections(life.birth)
        if life.end is not None:
            title = "Why it is being removed" if life.gone is None else "Why it was removed"
            yield Section(title, tuple(end_lines(life.end)))
    if isinstance(life, PoolHistory):
        yield Section("Nodes launched and removed", (_balance(life),))


def _balance(life: PoolHistory) -> str:
    n_lost = life.lost.total()
    reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(life.lost.items()))
    lost = f"{plural(n_lost, 'node')} removed" + (f" ({reasons})" if reasons else "")
    return f"{plural(life.n_launched, 'node')} launched, {lost}, within this journal."


def _life_json(life: _History) -> dict[str, Json]:
    match life:
        case NodeHistory():
            return dict(life_json(life))
        case PoolHistory():
            return {"launched": life.n_launched, "lost": dict(life.lost)}
        case PodHistory():
            return {}
        case unknown:
            assert_never(unknown)
