"""Defines what a generator of NodePools must know of a provider: its labels and its node class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from dovetail import api
from dovetail.units.commented import Commented, CommentedTree

NodeClassSettings = Mapping[str, str]  # the fields of `nodeClass` in a request, without its name


class UsualRequirement(msgspec.Struct, frozen=True):
    """A requirement of pools whose request names no instance families, with what it means."""

    key: str
    operator: str
    values: tuple[str, ...]
    comment: str


def _no_problems(settings: NodeClassSettings) -> Iterable[api.FieldProblem]:
    del settings
    return ()


class NodePoolForm(msgspec.Struct, frozen=True, kw_only=True):
    """The labels and the node class that generated NodePools of a provider use.

    `memory_label` counts MiB; where it is empty, nodes cannot be chosen by their memory. The first
    group of `zone_pattern` is the region of a zone; without a pattern any name is a zone.
    `needs` and `allows` are the settings of a new node class that a request must and may state;
    `node_class_spec` makes its spec of them, and `setting_problems` says what is wrong with them.
    """

    node_class: api.Kind
    family_label: str
    cpu_label: str
    memory_label: str = ""
    gpu_label: str = ""
    usual: tuple[UsualRequirement, ...] = ()
    usual_gpu: tuple[UsualRequirement, ...] = ()
    zone_pattern: str = ""
    zone_example: str = ""
    needs: tuple[str, ...] = ()
    allows: tuple[str, ...] = ()
    node_class_spec: Callable[[NodeClassSettings], dict[str, CommentedTree | Commented]]
    setting_problems: Callable[[NodeClassSettings], Iterable[api.FieldProblem]] = _no_problems
