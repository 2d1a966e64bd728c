"""Can this object be used? Every rule of its kind, in Python, with what was expected instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dovetail.api.autoscaling import CapacityBuffer
from dovetail.api.checks import check
from dovetail.api.decoding import DecodeError, FieldProblem
from dovetail.api.karpenter import NodeClaim, NodePool
from dovetail.api.kinds import find
from dovetail.api.kwok import KWOKNodeClass
from dovetail.api.meta import Object
from dovetail.api.overlay import NodeOverlay
from dovetail.api.poolrules import buffer_problems, claim_problems, overlay_problems, pool_problems
from dovetail.api.workloads import workload_problems

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_LONGEST_NAME: Final = 253


def problems(value: Object) -> list[FieldProblem]:
    """Everything wrong with an object, in the order of its fields, then of its further rules."""
    found = [*_identity(value), *_by_schema(value)]
    seen = {problem.field for problem in found}
    try:
        # A field that is wrong by its schema already would only be told off twice.
        found.extend(problem for problem in _beyond_schema(value) if problem.field not in seen)
    except DecodeError as error:
        found.append(error.problem)
    return found


def _by_schema(value: Object) -> Iterator[FieldProblem]:
    match value:
        case NodePool() | NodeClaim() | NodeOverlay() | CapacityBuffer() | KWOKNodeClass():
            yield from check(value.spec, "spec")
        case _:
            pass  # the API server knows the other kinds; what planning needs is checked below


def _beyond_schema(value: Object) -> Iterator[FieldProblem]:
    match value:
        case NodePool():
            yield from pool_problems(value)
        case NodeClaim():
            yield from claim_problems(value)
        case NodeOverlay():
            yield from overlay_problems(value)
        case CapacityBuffer():
            yield from buffer_problems(value)
        case _:
            yield from workload_problems(value)


def _identity(value: Object) -> Iterator[FieldProblem]:
    kind = find(value.api_version, value.kind)
    if kind is not None and value.api_version != kind.api_version:
        yield FieldProblem(
            "apiVersion", f"{value.api_version} is not supported; expected {kind.api_version}"
        )
    name = value.metadata.name or value.metadata.generate_name.removesuffix("-")
    if not name:
        yield FieldProblem("metadata.name", "is missing; expected a name")
    elif len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        yield FieldProblem(
            "metadata.name",
            f'{name!r} is no name; expected lower-case letters, digits, "-" and "."',
        )
