"""Steps that select by label, and steps between pods.

By label: the pool's own types, taints, node affinity, volumes, offerings. Between pods: spread,
affinity, anti-affinity. Which pods stand where is the solver's knowledge. Here only what is certain
is found early (a label that no node has, pods that are nowhere); the rest is what remains when
nothing else is in the way.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from dovetail import labels
from dovetail.decide.explain import say
from dovetail.decide.sieve.shelf import TypeShelf
from dovetail.decide.sieve.state import Finding, Sifting, Waiver
from dovetail.decide.sieve.typesets import Bits
from dovetail.decide.sieve.unavailable import unavailable_text
from dovetail.decide.sieve.wishes import Said, Wish, needs_text, without
from dovetail.model.topology import LabelSelector
from dovetail.model.verdict import Reason

_NO_EXPRESSION: Final = "Its required node affinity has no expression, so it selects no node."
_NO_PLACE: Final = "The topology of its volumes selects no node."


def stock(state: Sifting) -> Finding | None:
    """The types that the pool itself admits and that are on offer."""
    if state.left:
        return None
    shelf = state.shelf
    n_types = len(shelf.table.types)
    if shelf.admitted:
        why = f"none of the {shelf.admitted.bit_count()} matching instance types is available"
    else:
        why = f"its requirements match none of {n_types} types"

    def tell() -> str:
        where = unavailable_text(shelf, shelf.admitted, {})
        return say(Reason.NO_INSTANCE_TYPES, why=f"{why}{where}")

    return Finding(Reason.NO_INSTANCE_TYPES, tell, shelf.table.everyone, Waiver())


def taints(state: Sifting) -> Finding | None:
    """The pool's taints."""
    repelling = state.shelf.repelling_taints(state.ask.spec.tolerations)
    if not repelling or state.is_waived(Reason.TAINT_NOT_TOLERATED):
        return None
    named = " and ".join(str(taint) for taint in repelling)
    return Finding(
        Reason.TAINT_NOT_TOLERATED,
        partial(say, Reason.TAINT_NOT_TOLERATED, taints=named),
        state.left,
        Waiver(reasons=frozenset({Reason.TAINT_NOT_TOLERATED})),
        named,
    )


def node_affinity(state: Sifting) -> Finding | None:
    """Node selector and required node affinity."""
    shelf = state.shelf
    wishes = [without(wish, state.waived.keys) for wish in state.ask.wishes]
    branches = [(wish, shelf.admitting_all(wish, state.left)) for wish in wishes]
    if state.branch(branches):
        return None
    if not wishes:
        return Finding(Reason.NODE_AFFINITY, lambda: _NO_EXPRESSION, state.left, Waiver())
    return _label_finding(state, wishes, Reason.NODE_AFFINITY)


def volume_topology(state: Sifting) -> Finding | None:
    """The same, where the volumes can be reached."""
    if state.is_waived(Reason.VOLUME_TOPOLOGY) or (
        state.ask.wishes_with_volumes is state.ask.wishes
    ):
        return None
    shelf = state.shelf
    wishes = [without(wish, state.waived.keys) for wish in state.ask.wishes_with_volumes]
    if state.branch([(wish, shelf.admitting_all(wish, state.left)) for wish in wishes]):
        return None
    if not wishes:
        return Finding(Reason.VOLUME_TOPOLOGY, lambda: _NO_PLACE, state.left, Waiver())
    return _label_finding(state, wishes, Reason.VOLUME_TOPOLOGY)


def _label_finding(state: Sifting, wishes: list[Wish], step: Reason) -> Finding:
    """The label that failed in the alternative that came farthest."""
    failures = [_failing_label(state, wish) for wish in wishes]
    left, key, requirements = max(failures, key=lambda entry: entry[0].bit_count())
    reason = Reason.REFUSES_NODE_POOLS if _refuses_pools(key, requirements) else step

    def tell() -> str:
        message = say(
            reason, expression=needs_text(requirements), offered=_offered_text(state.shelf, key)
        )
        if len(wishes) > 1:
            message = f"{message[:-1]}, nor the other {len(wishes) - 1} alternatives."
        return message

    waiver = Waiver(keys=frozenset({key}))
    if reason is Reason.VOLUME_TOPOLOGY:
        waiver = Waiver(reasons=frozenset({reason}))
    return Finding(reason, tell, left, waiver, key, requirements)


def _refuses_pools(key: str, requirements: Said) -> bool:
    return key == labels.NODE_POOL and any(
        not item.complement and not item.values for item in requirements
    )


def _failing_label(state: Sifting, wish: Wish) -> tuple[Bits, str, Said]:
    """The label on which an alternative failed, hopeless ones last, and what was left before."""
    shelf, left = state.shelf, state.left
    hopeless = {key: not shelf.types_admitting(key, needs) & left for key, needs in wish.items()}
    *others, last = sorted(wish, key=lambda key: (hopeless[key], key))
    for key in others:
        narrowed = left & shelf.types_admitting(key, wish[key])
        if not narrowed:
            return left, key, wish[key]
        left = narrowed
    return left, last, wish[last]


def _offered_text(shelf: TypeShelf, key: str) -> str:
    if key in (labels.HOSTNAME, labels.NODE_NAME_FIELD):
        return "; the name of a new node is unknown before it is launched"
    values = shelf.values(key)
    if values:
        more = f" and {len(values) - 5} others" if len(values) > 5 else ""
        return f" (available: {', '.join(values[:5])}{more})"
    return "" if shelf.offers_label(key) else "; its nodes do not have that label"


def offerings(state: Sifting) -> Finding | None:
    """One offering that has zone, capacity type and all else together."""
    shelf = state.shelf
    if state.is_waived(Reason.NO_OFFERING) or state.branch(
        [(wish, mask & shelf.on_offer(wish)) for wish, mask in state.branches]
    ):
        return None
    wish = state.branches[0][0]
    asked = [needs_text(needs) for key, needs in wish.items() if key in shelf.table.offered_keys]
    where = f" with {', '.join(asked)}" if asked else ""

    def tell() -> str:
        return say(Reason.NO_OFFERING, where=f"{where}{unavailable_text(shelf, state.left, wish)}")

    waiver = Waiver(reasons=frozenset({Reason.NO_OFFERING}))
    return Finding(Reason.NO_OFFERING, tell, state.left, waiver)


_NO_SUCH_LABEL: Final = "Its nodes do not have the label {key}, which is the topologyKey."
_NOWHERE: Final = "Its required affinity over {key} selects pods that do not exist: {selector}."


def topology_keys(state: Sifting) -> Finding | None:
    """Constraints between pods that fail for certain: no node of the pool has the label."""
    spec = state.ask.spec
    asked = [
        *((Reason.TOPOLOGY_SPREAD, item.topology_key) for item in spec.spread if item.is_hard),
        *((Reason.POD_AFFINITY, pod_term.topology_key) for pod_term in spec.affinity),
    ]
    for reason, key in asked:
        if state.is_waived(reason) or state.shelf.offers_label(key):
            continue
        waiver = Waiver(reasons=frozenset({reason}))
        return Finding(reason, partial(_NO_SUCH_LABEL.format, key=key), state.left, waiver, key)
    return None


_OTHERS: Final = (
    "A node for it would break a constraint of other pods: required anti-affinity, or a topology "
    "spread that counts its zone."
)


def lonely(state: Sifting) -> Finding | None:
    """An affinity to pods that are nowhere."""
    if state.is_waived(Reason.POD_AFFINITY):
        return None
    for position in sorted(state.ask.lonely):
        term = state.ask.spec.affinity[position]
        named = selector_text(term.selector)
        tell = partial(_NOWHERE.format, key=term.topology_key, selector=named)
        waiver = Waiver(reasons=frozenset({Reason.POD_AFFINITY}))
        return Finding(Reason.POD_AFFINITY, tell, state.left, waiver, named)
    return None


def between_pods(state: Sifting) -> Finding | None:
    """A node could be launched, and yet the pod was not placed: other pods stand in its way."""
    if state.waived:
        return None
    spec = state.ask.spec
    hard = [spread for spread in spec.spread if spread.is_hard]
    if hard:
        reason, key = Reason.TOPOLOGY_SPREAD, hard[0].topology_key
        tell = partial(say, reason, max_skew=str(hard[0].max_skew), key=key)
    elif spec.affinity:
        reason, key = Reason.POD_AFFINITY, spec.affinity[0].topology_key
        tell = partial(say, reason, key=key, selector=selector_text(spec.affinity[0].selector))
    elif spec.anti_affinity:
        reason, key = Reason.POD_ANTI_AFFINITY, spec.anti_affinity[0].topology_key
        named = f"pods with {selector_text(spec.anti_affinity[0].selector)}"
        tell = partial(say, reason, key=key, selector=named)
    else:
        reason, key = Reason.POD_ANTI_AFFINITY, ""
        tell = partial(str, _OTHERS)
    waiver = Waiver(reasons=frozenset({reason}))
    return Finding(reason, tell, state.left, waiver, key)


def selector_text(selector: LabelSelector) -> str:
    """A selector as people read it."""
    if selector.nothing:
        return "no labels at all"
    return ", ".join(str(expression) for expression in selector.expressions) or "any labels"
