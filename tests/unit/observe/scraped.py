"""What does a scrape say? Read by Prometheus' own parser."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.parser import text_string_to_metric_families

from dovetail.observe.meters import Meters

Labels = frozenset[tuple[str, str]]


def samples(text: str) -> dict[str, dict[Labels, float]]:
    """Every value by the name of its series and its labels."""
    found: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            found.setdefault(one.name, {})[frozenset(one.labels.items())] = one.value
    return found


def values(text: str | Iterable[str], name: str, /, **labels: str) -> list[float]:
    """The values of a series whose labels include these."""
    whole = text if isinstance(text, str) else "".join(text)
    held = samples(whole).get(name, {})
    return [value for has, value in held.items() if labels.items() <= dict(has).items()]


def metered(meters: Meters, name: str, /, **labels: str) -> list[float]:
    """The same of meters."""
    return values(meters.text().decode(), name, **labels)
