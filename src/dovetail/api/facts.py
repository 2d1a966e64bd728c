"""Defines what is known of a field besides its type, and the rules across fields.

Facts stand beside the field and are read twice: by the CRD writer (`crds`) and by the checks made
here (`checks`). Rules of the custom resources are written in CEL, in words and in Python.

    weight: Annotated[int | None, about("Pools of higher weight come first.", minimum=1)] = None
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from dovetail.units import cron


class Rule(msgspec.Struct, frozen=True):
    """A law across fields, as the API server checks it (CEL) and as we do (`holds`).

    A law about change has no `holds`: it takes the object as it was to judge it. Nor has one that
    is said more precisely elsewhere.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool] | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a field's values must be. `expected` says in words what `pattern` does in signs."""

    description: str = ""
    expected: str = ""
    pattern: str = ""
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    max_items: int | None = None
    max_properties: int | None = None
    format: str = ""
    default: Any = msgspec.UNSET
    is_required: bool = False  # for the CRD, where decoding fills in something of its own
    list_map_keys: tuple[str, ...] = ()
    is_set: bool = False  # no item twice
    rules: tuple[Rule, ...] = ()
    known_keys: type[msgspec.Struct] | None = None  # of a map that may have any others besides

    @property
    def has_default(self) -> bool:
        """Whether the API server fills in something where nothing is said."""
        return self.default is not msgspec.UNSET


def about(description: str, **facts: Any) -> Facts:  # noqa: ANN401  passed on to Facts, which is typed
    """Facts, with the description in front."""
    return Facts(description=description, **facts)


_DNS_LABEL: Final = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"
QUALIFIED_NAME: Final = (
    rf"^({_DNS_LABEL}(\.{_DNS_LABEL})*/)?([A-Za-z0-9][A-Za-z0-9_.-]*)?[A-Za-z0-9]$"
)
LABEL_VALUE: Final = r"^(([A-Za-z0-9][A-Za-z0-9_.-]*)?[A-Za-z0-9])?$"
QUANTITY: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
DURATION: Final = "^([0-9]+(s|m|h))+$"
DURATION_OR_NEVER: Final = "^(([0-9]+(s|m|h))+|Never)$"

A_QUALIFIED_NAME: Final = (
    'a name of letters, digits, "-", "_" and ".", with an optional DNS prefix such as example.com/'
)
A_LABEL_VALUE: Final = (
    'at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends'
)
A_DURATION: Final = 'hours, minutes and seconds such as "30s" or "1h30m"'

LabelValue = Annotated[str, Facts(pattern=LABEL_VALUE, max_length=63, expected=A_LABEL_VALUE)]


if TYPE_CHECKING:
    from dovetail.api.karpenter import Requirement

NODE_POOL: Final = "karpenter.sh/nodepool"
HOSTNAME: Final = "kubernetes.io/hostname"
_OPEN_KEYS: Final = ("karpenter.sh/capacity-type", NODE_POOL)
_OPEN_KEYS_CEL: Final = "['karpenter.sh/capacity-type', 'karpenter.sh/nodepool']"
_BOUNDS: Final = ("Gt", "Lt", "Gte", "Lte")
_CATALOGUE_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pods")


def _is_open(key: str) -> bool:
    # The API server compares the end of the text only, so notkarpenter.sh/x is refused as well.
    return key in _OPEN_KEYS or not key.partition("/")[0].endswith("karpenter.sh")


# ---- keys of requirements


RESTRICTED_KEY: Final = Rule(
    cel=f"self in {_OPEN_KEYS_CEL} || !self.split('/')[0].endsWith('karpenter.sh')",
    message="labels of karpenter.sh are set by the autoscaler; expected another label",
    holds=_is_open,
)
NOT_NODE_POOL: Final = Rule(
    cel=f"self != '{NODE_POOL}'",
    message=f"{NODE_POOL} is set by the autoscaler; expected another label",
    holds=lambda key: key != NODE_POOL,
)
NOT_HOSTNAME: Final = Rule(
    cel=f"self != '{HOSTNAME}'",
    message=f"{HOSTNAME} is only known once a node is there; expected another label",
    holds=lambda key: key != HOSTNAME,
)


def keys_of_domain(domain: str, keys: tuple[str, ...], *, owner: str) -> Rule:
    """Requirements name no other labels of a provider's domain than these."""
    prefix = f"{domain}/"
    return Rule(
        cel=f"!self.startsWith('{prefix}') || self in {list(keys)}",
        message=f"no {owner} node has such a label; expected one of " + ", ".join(keys),
        holds=lambda key: not key.startswith(prefix) or key in keys,
    )


# ---- labels of a pool's nodes

NO_RESTRICTED_LABELS: Final = Rule(
    cel=(f"self.all(key, key in {_OPEN_KEYS_CEL} || !key.split('/')[0].endsWith('karpenter.sh'))"),
    message="labels of karpenter.sh are set by the autoscaler; expected others",
    holds=lambda labels: all(_is_open(key) for key in labels),
)
NO_NODE_POOL_LABEL: Final = Rule(
    cel=f"!('{NODE_POOL}' in self)",
    message=f"{NODE_POOL} is set by the autoscaler; expected others",
    holds=lambda labels: NODE_POOL not in labels,
)
NO_HOSTNAME_LABEL: Final = Rule(
    cel=f"!('{HOSTNAME}' in self)",
    message=f"{HOSTNAME} is set by each node itself; expected others",
    holds=lambda labels: HOSTNAME not in labels,
)

# ---- operators and their values


def _bound_is_one_number(requirement: Requirement) -> bool:
    if requirement.operator not in _BOUNDS:
        return True
    return len(requirement.values) == 1 and is_number(requirement.values[0])


def is_number(value: str) -> bool:
    """Whether it spells a whole number from 0 to what 64 bits hold."""
    return value.isascii() and value.isdigit() and int(value) < 2**63


IN_HAS_VALUES: Final = Rule(
    cel="self.operator != 'In' || (has(self.values) && size(self.values) > 0)",
    message="expected at least one value for operator In",
    holds=lambda need: need.operator != "In" or bool(need.values),
)
BOUND_IS_ONE_NUMBER: Final = Rule(
    cel=(
        "!(self.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(self.values) && "
        "size(self.values) == 1 && self.values[0].matches('^[0-9]+$') && "
        "int(self.values[0]) >= 0)"
    ),
    message="expected exactly one whole number, not negative, for operators Gt, Lt, Gte and Lte",
    holds=_bound_is_one_number,
)
IN_HAS_MIN_VALUES: Final = Rule(
    cel=(
        "self.operator != 'In' || !has(self.minValues) || "
        "(has(self.values) && size(self.values) >= self.minValues)"
    ),
    message="expected at least minValues values for operator In",
    holds=lambda need: (
        need.operator != "In" or need.min_values is None or len(need.values) >= need.min_values
    ),
)
NOT_IN_HAS_VALUES: Final = Rule(
    cel="self.operator != 'NotIn' || (has(self.values) && size(self.values) > 0)",
    message="expected at least one value for operator NotIn",
    holds=lambda need: need.operator != "NotIn" or bool(need.values),
)

# ---- what may not change

GROUP_STAYS: Final = Rule(
    cel="self.group == oldSelf.group", message="the group of a pool's node class may not change"
)
KIND_STAYS: Final = Rule(
    cel="self.kind == oldSelf.kind", message="the kind of a pool's node class may not change"
)
SPEC_STAYS: Final = Rule(cel="self == oldSelf", message="the spec of a NodeClaim may not change")
STATIC_STAYS: Final = Rule(
    cel="has(self.replicas) == has(oldSelf.replicas)",
    message="a pool may not change between a fixed number of replicas and none",
)

# ---- across the fields of one object


STATIC_LIMITS_NODES_ONLY: Final = Rule(
    cel=(
        "!has(self.replicas) || !has(self.limits) || size(self.limits) == 0 || "
        "(size(self.limits) == 1 && 'nodes' in self.limits)"
    ),
    message='expected no limit but "nodes" in a pool with replicas',
    holds=lambda spec: spec.replicas is None or set(spec.limits) <= {"nodes"},
)
STATIC_HAS_NO_WEIGHT: Final = Rule(
    cel="!has(self.replicas) || !has(self.weight)",
    message="expected no weight in a pool with replicas",
    holds=lambda spec: spec.replicas is None or spec.weight is None,
)
SCHEDULE_WITH_DURATION: Final = Rule(
    cel="has(self.schedule) == has(self.duration)",
    message="expected schedule and duration together, or neither",
    holds=lambda budget: (budget.schedule is None) == (budget.duration is None),
)
# `poolrules` names the very field of the schedule that is wrong.
SCHEDULE_READABLE: Final = Rule(
    cel=f"self.matches(r'{cron.PATTERN}')",
    message=(
        "expected minute 0 to 59, hour 0 to 23, day 1 to 31, month 1 to 12 or jan to dec, "
        "day of week 0 to 6 or sun to sat"
    ),
)
ONE_PRICE: Final = Rule(
    cel="!has(self.price) || !has(self.priceAdjustment)",
    message="expected price or priceAdjustment, not both",
    holds=lambda spec: spec.price is None or spec.price_adjustment is None,
)
EXTENDED_RESOURCES_ONLY: Final = Rule(
    cel=" && ".join(f"!('{name}' in self)" for name in _CATALOGUE_RESOURCES),
    message="expected other resources than " + ", ".join(_CATALOGUE_RESOURCES),
    holds=lambda capacity: not any(name in capacity for name in _CATALOGUE_RESOURCES),
)
BUFFER_IS_COUNTED: Final = Rule(
    cel="!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",
    message="expected replicas or limits beside podTemplateRef",
    holds=lambda spec: (
        spec.pod_template_ref is None or spec.replicas is not None or bool(spec.limits)
    ),
)
ONE_BUFFER_SOURCE: Final = Rule(
    cel="!has(self.podTemplateRef) || !has(self.scalableRef)",
    message="expected podTemplateRef or scalableRef, not both",
    holds=lambda spec: spec.pod_template_ref is None or spec.scalable_ref is None,
)
