"""Defines an explanation: facts, a verdict, and sections with the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from dovetail.model.plan import Disrupt, Launch
from dovetail.present.plan import Json, instant
from dovetail.present.table import instance_text, node_rows, plural, price
from dovetail.units import duration, quantity

if TYPE_CHECKING:  # reading manifests needs no solver
    from dovetail.decide.disrupt.budgets import Allowance
    from dovetail.decide.disrupt.removal import Removal

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)


def allowance_text(allowance: Allowance, which: str, reason: str = "") -> str:
    """How many nodes may go, by which budget, and until when that is so."""
    allowed = min(allowance.n_allowed, allowance.n_nodes)
    text = f"{allowed} of {plural(allowance.n_nodes, 'node')}{reason}"
    text += f" ({which})" if which else ""
    away = f", {allowance.n_disrupting} already unavailable" if allowance.n_disrupting else ""
    until = f", until {instant(allowance.changes_at)}" if allowance.changes_at else ""
    return f"{text}{away}{until}"


class Section(msgspec.Struct, frozen=True):
    """A part of an answer: a table, sentences, or both."""

    title: str
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class Explanation(msgspec.Struct, frozen=True):
    """The whole answer, for a person (all but `data`) and for a script (`data`)."""

    title: str
    facts: tuple[tuple[str, str], ...]
    verdict: str
    sections: tuple[Section, ...]
    data: Mapping[str, Json]


def age(since: datetime | None, now: datetime) -> str:
    """How old something is, in its largest two units; nothing if nobody knows."""
    if since is None or since > now:
        return ""
    days, rest = divmod(now - since, _DAY)
    if days:
        hours = f" {rest // timedelta(hours=1)}h" if rest >= timedelta(hours=1) else ""
        return f"{days}d{hours}"
    text = duration.render(rest - rest % timedelta(seconds=1))
    return _without_zero_units(text) if rest >= _MINUTE else text


def _without_zero_units(text: str) -> str:
    """Without units of which there are none: 6h rather than 6h0m0s."""
    for idle in ("m0s", "h0m"):
        text = text[: -len(idle) + 1] if text.endswith(idle) else text
    return text


def amounts(requests: Mapping[str, int]) -> str:
    """What is asked for, as manifests spell it; the place of a pod is no amount."""
    shown = [f"{name} {quantity.render(name, amount)}" for name, amount in sorted(requests.items())]
    return ", ".join(item for item in shown if not item.startswith("pods ")) or "nothing"


def launches_text(launches: tuple[Launch, ...]) -> str:
    """New nodes in a few words, with what they cost."""
    rows = node_rows(launches, {})
    return ", ".join(f"{row.count} x {instance_text(row)}" for row in rows)


def saving_of(removal: Disrupt | Removal) -> str:
    """What a move saves or costs more, in words; with node prices, where nodes have some."""
    if not removal.node_saving_nanousd:
        return saving(removal.saving_nanousd)
    whole = saving(removal.saving_nanousd + removal.node_saving_nanousd)
    return f"{whole}, counting node prices ({price(removal.saving_nanousd)} without them)"


def saving(nanousd: int) -> str:
    """What is saved or paid more, in words."""
    if nanousd > 0:
        return f"saves {price(nanousd)} an hour"
    if nanousd < 0:
        return f"costs {price(-nanousd)} an hour more"
    return "costs the same"


def departure(disrupt: Disrupt, name: str) -> str:
    """How a node goes, in a sentence."""
    others = [node for node in disrupt.nodes if node != name]
    along = f" together with {', '.join(others)}" if others else ""
    instead = (
        f"; {launches_text(disrupt.replacements)} is launched first" if disrupt.replacements else ""
    )
    saved = saving_of(disrupt)
    return f"It can be removed now, for reason {disrupt.reason}{along}: that {saved}{instead}."
