"""Which policy do decisions follow? One way to make it, for `plan` and for `run`."""

from __future__ import annotations

from dovetail.model.plan import DisruptionReason
from dovetail.model.policy import MinValuesPolicy, Policy, PreferencePolicy
from dovetail.model.topology import Spread

DEFAULT = Policy()


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
