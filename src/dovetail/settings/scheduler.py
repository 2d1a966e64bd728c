"""How does the cluster spread pods that say nothing? As the scheduler's configuration file says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec
import yaml

from dovetail.errors import InputError
from dovetail.model.topology import NOTHING, NodePolicy, Spread

_LABEL_KEY: Final = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
)


class WhenUnsatisfiable(StrEnum):
    """What a spread constraint does when it cannot hold."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


class DefaultConstraint(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True
):
    """A spread constraint for pods that state none. Its selector is deduced, never written."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: WhenUnsatisfiable
    min_domains: int | None = None
    node_affinity_policy: NodePolicy = NodePolicy.HONOR
    node_taints_policy: NodePolicy = NodePolicy.IGNORE
    label_selector: object = None
    match_label_keys: object = None


class SpreadDefaults(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The part of the scheduler's configuration about spreading."""

    default_constraints: tuple[DefaultConstraint, ...] = ()


class SchedulerConfig(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The scheduler's configuration, as far as it binds plans."""

    pod_topology_spread: SpreadDefaults = SpreadDefaults()


def default_spread(path: str) -> tuple[Spread, ...]:
    """The default spread constraints of a scheduler configuration file; none without a file."""
    if not path:
        return ()
    constraints = _scheduler_config(path).pod_topology_spread.default_constraints
    seen: set[tuple[str, WhenUnsatisfiable]] = set()
    for index, constraint in enumerate(constraints):
        for field, expected in _faults(constraint, seen):
            where = f"podTopologySpread.defaultConstraints[{index}].{field}"
            msg = f"{path}: {where}: {expected}"
            raise InputError(msg)
        seen.add((constraint.topology_key, constraint.when_unsatisfiable))
    return tuple(_spread(constraint) for constraint in constraints)


def _scheduler_config(path: str) -> SchedulerConfig:
    try:
        tree = yaml.load(Path(path).read_bytes(), Loader=yaml.CSafeLoader)
        return msgspec.convert({} if tree is None else tree, SchedulerConfig)
    except OSError as error:
        msg = f"{path}: expected a scheduler configuration file: {error.strerror}"
        raise InputError(msg) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        msg = f"{path}: expected YAML or JSON: {error}"
        raise InputError(msg) from error
    except msgspec.ValidationError as error:
        msg = f"{path}: {error}"
        raise InputError(msg) from error


def _faults(
    constraint: DefaultConstraint, seen: set[tuple[str, WhenUnsatisfiable]]
) -> Iterator[tuple[str, str]]:
    is_hard = constraint.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE
    if constraint.max_skew < 1:
        yield "maxSkew", f"expected a number above 0, not {constraint.max_skew}"
    if not _LABEL_KEY.fullmatch(constraint.topology_key):
        yield "topologyKey", f"expected a label key, not {constraint.topology_key!r}"
    if constraint.min_domains is not None and (constraint.min_domains < 1 or not is_hard):
        yield "minDomains", "expected a number above 0, and only with DoNotSchedule"
    if constraint.label_selector is not None:
        yield "labelSelector", "expected none: it is deduced from services and owners"
    if constraint.match_label_keys is not None:
        yield "matchLabelKeys", "expected none: they need a labelSelector, which is deduced"
    if (constraint.topology_key, constraint.when_unsatisfiable) in seen:
        yield "topologyKey", "expected each pair of topologyKey and whenUnsatisfiable only once"


def _spread(constraint: DefaultConstraint) -> Spread:
    return Spread(
        topology_key=constraint.topology_key,
        selector=NOTHING,
        max_skew=constraint.max_skew,
        min_domains=constraint.min_domains or 1,
        is_hard=constraint.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE,
        node_affinity_policy=constraint.node_affinity_policy,
        node_taints_policy=constraint.node_taints_policy,
    )
