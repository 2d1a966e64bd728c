"""Packs pods one after another, each where it still fits: a plain start for the search.

Large pods first; each goes to the planned node with the fewest pods that could still become some
type that holds it too, else to a node of its own. That is the order of the reference. It knows no
prices, yet with few pods luck can make it cheaper than a plan that was thought through; so it is
one of the starts, and no small plan is dearer.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.solve.search.rates import NO_LOAD, NO_WAY, Rates, WorkBudget


def one_by_one(rates: Rates, sorts: Sequence[int], budget: WorkBudget) -> list[int] | None:
    """Loads that hold pods of these sorts; None if one fits nowhere, or the work would not end."""
    loads: list[int] = []
    n_pods: list[int] = []
    request = rates.request
    for sort in sorted(sorts, key=lambda sort: (-request[sort][0], -request[sort][1], sort)):
        if budget.left <= 0:
            return None
        for place in sorted(range(len(loads)), key=lambda load: (n_pods[load], load)):
            budget.left -= 1
            more = rates.with_one_more(loads[place], sort)
            if more != NO_WAY:
                loads[place] = more
                n_pods[place] += 1
                break
        else:
            alone = rates.with_one_more(NO_LOAD, sort)
            if alone == NO_WAY:
                return None
            loads.append(alone)
            n_pods.append(1)
    return loads
