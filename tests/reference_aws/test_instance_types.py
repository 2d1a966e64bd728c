"""Labels, capacity and allocatable of instance types are those of the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random

import pytest

from dovetail.api.decoding import decode
from dovetail.model.instance import InstanceType
from dovetail.model.resources import subtract, total, without_zeros
from dovetail.providers.aws.catalogue.inputs import CatalogueInputs
from dovetail.providers.aws.catalogue.instance_types import instance_types
from dovetail.providers.aws.catalogue.machines import machine_type
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.units import quantity
from tests.reference_aws.conftest import Judged
from tests.reference_aws.meant import unexplained, unused
from tests.reference_aws.ours import settings
from tests.reference_aws.questions import FAMILIES, node_class, question
from tests.reference_aws.reference import REGION, ZONES, Tree, TypeAnswer, ask, machines


def test_generated_node_classes_give_the_types_of_the_reference(judged: list[Judged]) -> None:
    """Eight types of each class: labels, capacity, and what is left for pods."""
    differences = [
        f"seed {each.seed}: {difference}"
        for each in judged
        for difference in _differences(each.question, each.answer.types)
    ]
    assert unexplained(differences)[:20] == []
    assert unused(differences) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_all_instance_types_are_those_of_the_reference(family: str) -> None:
    """Every type that EC2 describes, for a plain node class of each family."""
    asked = question(0) | {
        "NodeClass": node_class(Random(1), family),  # noqa: S311 -- repeatable, and no secret
        "NodeClaim": None,
        "InstanceTypes": sorted(machines()),
    }
    asked["NodeClass"]["spec"] = {
        field: asked["NodeClass"]["spec"][field]
        for field in ("amiSelectorTerms", "amiFamily", "role")
        if field in asked["NodeClass"]["spec"]
    }
    (answer,) = ask([asked])
    assert answer.error == ""
    assert unexplained(list(_differences(asked, answer.types)))[:20] == []


def _differences(asked: Tree, types: Mapping[str, TypeAnswer]) -> Iterator[str]:
    ours = {each.name: each for each in _ours(asked)}
    for name, theirs in types.items():
        if name not in ours:
            yield f"{name} is missing"
            continue
        yield from (f"{name} {found}" for found in _of_labels(ours[name], theirs))
        yield from (f"{name} {found}" for found in _of_amounts(ours[name], theirs))


def _ours(asked: Tree) -> tuple[InstanceType, ...]:
    names = asked["InstanceTypes"]
    inputs = CatalogueInputs(
        machines=tuple(machine_type(machines()[name]) for name in names),  # type: ignore[arg-type]  # as JSON has it
        region=REGION,
        zones=dict.fromkeys(names, ZONES),
        on_demand_nanousd=dict.fromkeys(names, 10**9),
        zone_ids={
            subnet["zone"]: subnet["zoneID"] for subnet in asked["NodeClass"]["status"]["subnets"]
        },
    )
    return instance_types(decode(EC2NodeClass, asked["NodeClass"]), inputs, settings(asked))


def _of_labels(ours: InstanceType, theirs: TypeAnswer) -> Iterator[str]:
    stated = {
        key: (each.operator, sorted(each.values or ())) for key, each in theirs.requirements.items()
    }
    for key in sorted(stated):
        held = ours.requirements.get(key)
        mine = (str(held.operator), sorted(held.values)) if held is not None else None
        if mine != stated[key]:
            yield f"{key}: {mine}, the reference has {stated[key]}"


def _of_amounts(ours: InstanceType, theirs: TypeAnswer) -> Iterator[str]:
    capacity = _amounts(theirs.capacity)
    mine = without_zeros(ours.capacity)
    if mine != capacity:
        yield f"capacity {_distinct(mine, capacity)}"
    reserved = (theirs.kube_reserved, theirs.system_reserved, theirs.eviction_threshold)
    overhead = total([_amounts(each) for each in reserved])
    left = {name: max(amount, 0) for name, amount in subtract(capacity, overhead).items()}
    wanted = {name: amount for name, amount in left.items() if name in capacity and amount}
    if without_zeros(ours.allocatable) != wanted:
        yield f"allocatable {_distinct(without_zeros(ours.allocatable), wanted)}"


def _amounts(given: Mapping[str, str]) -> dict[str, int]:
    return {name: quantity.amount(name, text) for name, text in given.items()}


def _distinct(ours: Mapping[str, int], theirs: Mapping[str, int]) -> str:
    names = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    return ", ".join(f"{name}: {ours.get(name)} for {theirs.get(name)}" for name in names)


def test_generated_questions_cover_every_family(judged: list[Judged]) -> None:
    """The comparison is worth something: no family is rare, and the reference refused nothing."""
    families = Counter(each.question["NodeClass"]["spec"].get("amiFamily") for each in judged)
    assert len(families) == len(FAMILIES) + 1
    assert [each.answer.error for each in judged if each.answer.error] == []
