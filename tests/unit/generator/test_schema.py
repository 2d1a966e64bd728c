"""The schema of a request says the same as the checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dovetail.generator import request_schema
from dovetail.generator.reading import read_request
from tests.unit.generator.requests import FULL, GPU, KWOK, PLAIN

ROOT = Path(__file__).parents[3]


def objects(schema: Any) -> list[Any]:
    """Every schema of an object with fields."""
    inner = [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]
    found = [one for each in inner for one in objects(each)]
    return [schema, *found] if "properties" in schema else found


def fields(tree: Any, schema: Any, at: str = "") -> set[str]:
    """The paths of a tree that the schema does not have."""
    if isinstance(tree, list):
        return {path for item in tree for path in fields(item, schema["items"], f"{at}[]")}
    if not isinstance(tree, dict):
        return set()
    known = schema.get("properties", {})
    free = schema.get("additionalProperties")
    return {
        path
        for key, value in tree.items()
        for path in (
            fields(value, known[key], f"{at}.{key}")
            if key in known
            else set()
            if free
            else {f"{at}.{key}"}
        )
    }


@pytest.mark.parametrize("request_", [PLAIN, FULL, GPU, KWOK])
def test_the_schema_has_every_field_of_a_request(request_: dict[str, Any]) -> None:
    """And the checks read it without a problem."""
    assert read_request(request_).problems == ()
    assert fields(request_, request_schema()) == set()


def test_objects_are_closed_and_described() -> None:
    """An editor points out unknown keys, and shows what a field means."""
    found = objects(request_schema())
    assert len(found) == 5
    assert all(one["additionalProperties"] is False for one in found)
    members = [field for one in found for field in one["properties"].values()]
    assert [field for field in members if not field.get("description")] == []


def test_the_schema_is_no_schema_of_kubernetes() -> None:
    """Extensions of Kubernetes mean nothing to other tools; amounts are numbers or text."""
    schema: Any = request_schema()
    assert "x-kubernetes" not in json.dumps(schema)
    assert schema["properties"]["cpu"]["type"] == ["number", "string"]
    assert schema["required"] == ["name"]
    assert schema["properties"]["spot"]["enum"] == ["never", "allowed", "only"]
