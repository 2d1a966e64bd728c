"""How does a custom resource definition describe a wire type? Structural OpenAPI, rules included.

Structural means: a type everywhere, nothing by reference, so every wire type is written out where
it is used. Kubernetes adds up what the CEL rules could cost at worst, hence the bounds on lists,
maps and texts that rules look through.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from dovetail.api.checks import INT_OR_STRING, Hint, fields, known_keys
from dovetail.api.decoding import Tree
from dovetail.api.facts import QUANTITY, Facts, Rule
from dovetail.api.meta import Wire

Schema = dict[str, Tree]


def of_struct(struct: type[Wire]) -> Schema:
    """An object with the fields of this type."""
    known = fields(struct)
    described: Schema = {"type": "object"}
    if known:
        described["properties"] = {field.name: of_hint(field.hint) for field in known}
    required: list[Tree] = [
        field.name for field in known if field.hint.facts.is_required or not field.has_default
    ]
    if required:
        described["required"] = required
    rules: tuple[Rule, ...] = getattr(struct, "rules", ())
    return described | _rules(rules)


def of_hint(hint: Hint) -> Schema:
    """Whatever an annotation says."""
    described = _bare(hint) | _facts(hint.facts)
    if hint.facts.rules:
        own = _rules((*hint.facts.rules, *getattr(hint.struct, "rules", ())))
        described |= own
    return described


def _bare(hint: Hint) -> Schema:
    if hint.is_quantity:
        return _int_or_string() | {"pattern": QUANTITY}
    if hint.base == INT_OR_STRING:
        return _int_or_string()
    if hint.struct is not None:
        return of_struct(hint.struct)
    if hint.item is not None and hint.base is tuple:
        return {"type": "array", "items": of_hint(hint.item)}
    if hint.item is not None and hint.item.base is object:
        known = known_keys(hint)
        shape = {"type": "object"} if known is None else of_struct(known)
        return shape | {"x-kubernetes-preserve-unknown-fields": True}
    if hint.item is not None:
        return {"type": "object", "additionalProperties": of_hint(hint.item)}
    return _scalar(hint.base)


def _int_or_string() -> Schema:
    return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


def _scalar(base: object) -> Schema:
    if base is str:
        return {"type": "string"}
    if base is bool:
        return {"type": "boolean"}
    if base is int:
        return {"type": "integer", "format": "int64"}
    if base is datetime:
        return {"type": "string", "format": "date-time"}
    msg = f"no schema for {base}"
    raise TypeError(msg)


def _facts(facts: Facts) -> Schema:
    keywords: dict[str, Tree] = {
        "description": facts.description or None,
        "pattern": facts.pattern or None,
        "enum": list(facts.enum) or None,
        "minimum": facts.minimum,
        "maximum": facts.maximum,
        "minLength": facts.min_length,
        "maxLength": facts.max_length,
        "maxItems": facts.max_items,
        "maxProperties": facts.max_properties,
        "format": facts.format or None,
    }
    described: Schema = {name: value for name, value in keywords.items() if value is not None}
    if facts.has_default:
        described["default"] = facts.default
    if facts.is_set:
        described["x-kubernetes-list-type"] = "set"
    if facts.list_map_keys:
        described["x-kubernetes-list-type"] = "map"
        described["x-kubernetes-list-map-keys"] = list(facts.list_map_keys)
    return described


def _rules(rules: tuple[Rule, ...]) -> Schema:
    return {"x-kubernetes-validations": validations(rules)} if rules else {}


def validations(rules: Iterable[Rule]) -> list[Tree]:
    """Rules as a schema states them."""
    return [{"rule": rule.cel, "message": rule.message} for rule in rules]
