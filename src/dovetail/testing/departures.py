"""Checks that a plan removes the nodes that a scenario names, and gives reasons for the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from dovetail.model.plan import Disrupt, Plan
from dovetail.model.verdict import Blocked, Blocker
from dovetail.units import money


class WantDisruption(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Nodes that go together, in this order, and what that saves an hour, of node prices beside
    that. `replacements` are the types that come instead, `moved_to` says which pods find room on
    which node that stays.
    """

    nodes: list[str]
    reason: Literal["Empty", "Drifted", "Underutilized", "Overprovisioned"] = "Empty"
    saving: float | None = None
    node_saving: float = 0.0
    replacements: list[str] = []
    capacity_types: list[str] | None = None
    n_types: int | None = None
    pods: list[str] | None = None
    moved_to: dict[str, list[str]] | None = None

    def fits(self, got: Disrupt) -> bool:
        """Whether this is what is wanted."""
        saving = None if self.saving is None else money.nanousd(self.saving)
        return (
            tuple(self.nodes) == got.nodes
            and self.reason == got.reason
            and saving in (None, got.saving_nanousd)
            and money.nanousd(self.node_saving) == got.node_saving_nanousd
            and self.replacements == [replacement.instance_type for replacement in got.replacements]
            and self._ways_fit(got)
            and self._pods_fit(got)
        )

    def _ways_fit(self, got: Disrupt) -> bool:
        types = {len(replacement.instance_types) for replacement in got.replacements}
        ways = [replacement.capacity_type for replacement in got.replacements]
        return self.capacity_types in (None, ways) and (
            self.n_types is None or types == {self.n_types}
        )

    def _pods_fit(self, got: Disrupt) -> bool:
        moved_to = {place.node: sorted(map(_short, place.pods)) for place in got.places}
        wanted = {node: sorted(pods) for node, pods in (self.moved_to or {}).items()}
        return (self.moved_to is None or wanted == moved_to) and (
            self.pods is None or sorted(self.pods) == sorted(map(_short, got.pods))
        )


class WantBlocked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node that stays: why, a part of what is said about it, and a part of the remedy."""

    reason: Blocker
    says: str = ""
    fix: str = ""

    def fits(self, got: Blocked) -> bool:
        """Whether this is what is said."""
        return self.reason == got.reason and self.says in got.message and self.fix in got.fix


def disruption_differences(wanted: Sequence[WantDisruption], plan: Plan) -> Iterator[str]:
    """Nodes that go or stay against what is wanted."""
    got = plan.disruptions
    fits = len(wanted) == len(got) and all(
        want_disruption.fits(other) for want_disruption, other in zip(wanted, got, strict=True)
    )
    if not fits:
        shown = [_text_of(disruption) for disruption in got]
        yield f"wanted {msgspec.json.encode(wanted).decode()} to go, got {'; '.join(shown) or None}"


def proposal_differences(wanted: Sequence[str], plan: Plan) -> Iterator[str]:
    """Nodes that are, or are not, waited for against what is wanted."""
    got = [proposal.node for proposal in plan.proposals]
    if sorted(wanted) != got:
        yield f"wanted {sorted(wanted)} to be proposed, got {got}"


def blocked_differences(wanted: Mapping[str, Blocker | WantBlocked], plan: Plan) -> Iterator[str]:
    """Nodes that may not go, or not for the reason that is wanted."""
    got = {verdict.node: verdict for verdict in plan.blocked}
    if wanted.keys() != got.keys():
        yield f"wanted {sorted(wanted)} to be kept, got {sorted(got)}"
        return
    yield from staying_differences(wanted, plan.blocked)


def staying_differences(
    wanted: Mapping[str, Blocker | WantBlocked], told: Sequence[Blocked]
) -> Iterator[str]:
    """Nodes that go, or that stay for another reason than is wanted."""
    got = {verdict.node: verdict for verdict in told}
    for node in sorted(wanted.keys() - got.keys()):
        yield f"{node} is not there, or goes"
    for node, written in wanted.items():
        if node not in got:
            continue
        want_blocked = WantBlocked(written) if isinstance(written, Blocker) else written
        if not want_blocked.fits(got[node]):
            message = f"{got[node].message} Help: {got[node].fix or None}"
            yield f"{node} is kept for {got[node].reason}, not {want_blocked.reason}: {message}"


def _short(pod: str) -> str:
    return pod.removeprefix("default/")


def _text_of(disruption: Disrupt) -> str:
    places = "; ".join(f"{place.node}: {', '.join(place.pods)}" for place in disruption.places)
    instead = ", ".join(
        f"{new.instance_type} {new.capacity_type} ({len(new.instance_types)} types)"
        for new in disruption.replacements
    )
    return (
        f"{disruption.reason}: {', '.join(disruption.nodes)} saves {disruption.saving_nanousd}, "
        f"moves {', '.join(disruption.pods) or None} ({places}), instead {instead or None}"
    )
