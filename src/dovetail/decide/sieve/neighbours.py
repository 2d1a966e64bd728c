"""Steps between pods: spread, affinity, anti-affinity.

Which pods stand where is the solver's knowledge. Here only what is certain is found early (a label
that no node has, pods that are nowhere); the rest is what remains when nothing else is in the way.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from dovetail.decide.explain import say
from dovetail.decide.sieve.state import Finding, Sifting, Waiver
from dovetail.model.topology import LabelSelector
from dovetail.model.verdict import Reason

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
        named = selected(term.selector)
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
        tell = partial(say, reason, key=key, selector=selected(spec.affinity[0].selector))
    elif spec.anti_affinity:
        reason, key = Reason.POD_ANTI_AFFINITY, spec.anti_affinity[0].topology_key
        named = f"pods with {selected(spec.anti_affinity[0].selector)}"
        tell = partial(say, reason, key=key, selector=named)
    else:
        reason, key = Reason.POD_ANTI_AFFINITY, ""
        tell = partial(str, _OTHERS)
    waiver = Waiver(reasons=frozenset({reason}))
    return Finding(reason, tell, state.left, waiver, key)


def selected(selector: LabelSelector) -> str:
    """A selector as people read it."""
    if selector.nothing:
        return "no labels at all"
    return ", ".join(str(expression) for expression in selector.expressions) or "any labels"
