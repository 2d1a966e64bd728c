"""Compares what the reference's controller and Dovetail did for one combination."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.reference_aws.combinations import Combination
from tests.reference_aws.facts import (
    INSTANCE_TYPE,
    claim_of,
    facts,
    fleet_of,
    overrides,
    templates,
    type_labels,
)
from tests.reference_aws.side_by_side import Observed, Tree

_ABSENT = "nothing"


def differences(ours: Observed, theirs: Observed, combination: Combination) -> list[str]:
    """Every difference, in words."""
    mine, other = facts(ours, combination), facts(theirs, combination)
    texts = list(_apart(mine, other))
    if combination.launches:
        texts += _label_differences(ours, theirs, combination)
        texts += _override_differences(ours, theirs, combination)
        texts += _template_differences(ours, theirs, combination)
    return [f"{combination.name}: {text}" for text in texts]


def _apart(mine: Tree, other: Tree) -> Iterator[str]:
    for key in sorted({*mine, *other}):
        ours, theirs = mine.get(key, _ABSENT), other.get(key, _ABSENT)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            yield from (f"{key}: {text}" for text in _apart(ours, theirs))
        elif ours != theirs:
            yield f"{key}: {ours}, the reference has {theirs}"


def _label_differences(ours: Observed, theirs: Observed, combination: Combination) -> Iterator[str]:
    """Labels of the type, where both chose the same."""
    mine, other = claim_of(ours, combination), claim_of(theirs, combination)
    names = {each["metadata"]["labels"][INSTANCE_TYPE] for each in (mine, other)}
    if len(names) == 1:
        yield from _apart(type_labels(mine), type_labels(other))


def _override_differences(
    ours: Observed, theirs: Observed, combination: Combination
) -> Iterator[str]:
    """Dovetail may plan another node, but one that the pool and the pod allow."""
    mine, other = (overrides(fleet_of(each, combination)) for each in (ours, theirs))
    allowed = _allowed_types(theirs, combination)
    for name in sorted({name for name, _ in mine} - allowed):
        yield f"overrides: {name} is not allowed by the reference"
    for zone in sorted({zone for _, zone in mine} - {zone for _, zone in other}):
        yield f"overrides: zone {zone} is not allowed by the reference"
    places = {zone: each["SubnetId"] for (_, zone), each in other.items()}
    for (name, zone), each in sorted(mine.items()):
        if each["SubnetId"] != places.get(zone):
            yield f"overrides: subnet of {name} in {zone} is not {places.get(zone)}"
        twin = other.get((name, zone), each)
        yield from (f"overrides: {name} in {zone}: {text}" for text in _apart(each, twin))


def _allowed_types(observed: Observed, combination: Combination) -> set[str]:
    requirements: list[Any] = claim_of(observed, combination)["spec"]["requirements"]
    listed = [each["values"] for each in requirements if each["key"] == INSTANCE_TYPE]
    return set(listed[0])


def _template_differences(
    ours: Observed, theirs: Observed, combination: Combination
) -> Iterator[str]:
    """Templates are compared for the types that both would launch."""
    mine, other = templates(ours, combination), templates(theirs, combination)
    common = sorted(mine.keys() & other.keys())
    if not common:
        yield f"templates: no type in common: {sorted(mine)[:5]}, {sorted(other)[:5]}"
    texts = {text: name for name in common for text in _apart(mine[name], other[name])}
    yield from (f"template of {name}: {text}" for text, name in texts.items())
