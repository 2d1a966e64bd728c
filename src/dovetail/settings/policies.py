"""Which policy do decisions follow? One way to make it, for `plan` and for `run`."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from dovetail.model.plan import DisruptionReason
from dovetail.model.policy import MinValuesPolicy, Policy, PreferencePolicy
from dovetail.model.topology import Spread
from dovetail.units import knobs

DEFAULT = Policy()
NO_LIMIT: Final = -1


class Calm(msgspec.Struct, frozen=True):
    """What a move must save for each pod that it evicts, in dollars an hour as they were written,
    how often a pod may be evicted a day (-1 for any number of times), and what that is worth.
    """

    least_saving_per_eviction: str = "0"
    most_evictions_per_day: int = NO_LIMIT
    eviction_cost: timedelta = DEFAULT.eviction_cost

    @property
    def most_evictions(self) -> int | None:
        """As decisions read it."""
        return None if self.most_evictions_per_day == NO_LIMIT else self.most_evictions_per_day


ANY_SAVING: Final = Calm()


def policy(
    *,
    preference_policy: PreferencePolicy = PreferencePolicy.RESPECT,
    min_values_policy: MinValuesPolicy = MinValuesPolicy.STRICT,
    effort: int = DEFAULT.effort,
    spot_robustness: float = DEFAULT.spot_robustness,
    default_spread: tuple[Spread, ...] = (),
) -> Policy:
    """What the operator chose, as decisions read it. Nodes are taken away for any reason."""
    return Policy(
        preference_policy=preference_policy,
        min_values_policy=min_values_policy,
        effort=effort,
        spot_robustness=spot_robustness,
        default_spread=default_spread,
        disrupts_for=tuple(DisruptionReason),
    )


def with_calm(chosen: Policy, calm: Calm) -> Policy:
    """The same policy, as calm as that."""
    return msgspec.structs.replace(
        chosen,
        least_saving_nanousd=knobs.least_saving(calm.least_saving_per_eviction),
        most_evictions=calm.most_evictions,
        eviction_cost=calm.eviction_cost,
    )


def with_node_price(chosen: Policy, dollars: str) -> Policy:
    """The same policy with a price per node, in dollars an hour as they were written."""
    return msgspec.structs.replace(chosen, node_price_nanousd=knobs.node_price(dollars))
