"""Do the nodes go that a scenario wants to go, and do the others say why they stay?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from dovetail.model.plan import Disrupt, DisruptionReason, Plan
from dovetail.model.verdict import Blocked, Blocker
from dovetail.units import money


class WantDisruption(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Nodes that go together, in this order, and what that saves an hour."""

    nodes: list[str]
    reason: DisruptionReason = DisruptionReason.EMPTY
    saving: float | None = None

    def fits(self, got: Disrupt) -> bool:
        """Whether this is what is wanted."""
        saving = None if self.saving is None else money.nanousd(self.saving)
        return (
            tuple(self.nodes) == got.nodes
            and self.reason == got.reason
            and saving in (None, got.saving_nanousd)
        )


class WantBlocked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node that could go but may not: why, and a part of what is said about it."""

    reason: Blocker
    says: str = ""

    def fits(self, got: Blocked) -> bool:
        """Whether this is what is said."""
        return self.reason == got.reason and self.says in got.message


def disruption_differences(wanted: Sequence[WantDisruption], plan: Plan) -> Iterator[str]:
    """Nodes that go or stay against what is wanted."""
    got = plan.disruptions
    fits = len(wanted) == len(got) and all(
        one.fits(other) for one, other in zip(wanted, got, strict=True)
    )
    if not fits:
        shown = [f"{one.reason}: {', '.join(one.nodes)}, {one.saving_nanousd}" for one in got]
        yield f"wanted {msgspec.json.encode(wanted).decode()} to go, got {'; '.join(shown) or None}"


def proposal_differences(wanted: Sequence[str], plan: Plan) -> Iterator[str]:
    """Nodes that are, or are not, waited for against what is wanted."""
    got = [one.node for one in plan.proposals]
    if sorted(wanted) != got:
        yield f"wanted {sorted(wanted)} to be proposed, got {got}"


def blocked_differences(wanted: Mapping[str, Blocker | WantBlocked], plan: Plan) -> Iterator[str]:
    """Nodes that may not go, or not for the reason that is wanted."""
    got = {one.node: one for one in plan.blocked}
    if wanted.keys() != got.keys():
        yield f"wanted {sorted(wanted)} to be kept, got {sorted(got)}"
        return
    for node, written in wanted.items():
        one = WantBlocked(written) if isinstance(written, Blocker) else written
        if not one.fits(got[node]):
            yield f"{node} is kept for {got[node].reason}, not {one.reason}: {got[node].message}"
