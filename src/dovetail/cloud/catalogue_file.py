"""Reads and writes catalogues in the kwok format, a JSON list of instance types.

    [{"name": "s-4x", "architecture": "amd64", "operatingSystems": ["linux"],
      "resources": {"cpu": "4", "memory": "16Gi"},
      "offerings": [{"Price": 0.12, "Available": true, "Requirements": [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}]}]}]

An entry may add `overhead` (what the system keeps; 100m cpu and 10Mi memory if not said), `labels`
(a value, a list of possible values, or null for a label that the type does not have) and
`attachLimits` (volumes by CSI driver). Entries of one name that differ only in architecture or
operating system are one type. `render` writes what `read` reads back as the same types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from dovetail import labels
from dovetail.cloud.declare import Make, all_labels, allocatable, among, reservation_id
from dovetail.errors import InputError
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.requirements import Operator, Requirement, Requirements, requirement
from dovetail.model.resources import CPU, MEMORY, PODS
from dovetail.units import money, quantity

_DEFAULT_PODS: Final = 110
_DEFAULT_OVERHEAD: Final[Mapping[str, str]] = {CPU: "100m", MEMORY: "10Mi"}
# As EC2 and uname spell them; nodes carry the names on the right.
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_OPERATORS: Final = tuple(str(operator) for operator in Operator)
_MOST_DOLLARS: Final = 10**6  # an hour; more is a typing error

Quantities = dict[str, str | int | float]


class _Requirement(msgspec.Struct):
    key: str
    operator: str
    values: list[str] = []


class _Offering(msgspec.Struct, rename="pascal"):
    price: float
    requirements: list[_Requirement]
    available: bool = True
    reservation_capacity: int = 0


class _Entry(msgspec.Struct, rename="camel"):
    name: str
    architecture: str
    operating_systems: list[str]
    resources: Quantities
    offerings: list[_Offering]
    overhead: Quantities | None = None
    labels: dict[str, str | list[str] | None] = {}
    attach_limits: dict[str, int] = {}


class _Named(msgspec.Struct):
    name: str = ""


class _FieldError(Exception):
    """A field of one entry is wrong; `read` adds which entry of which file."""

    def __init__(self, *, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")


def read(path: Path | str) -> tuple[InstanceType, ...]:
    """The instance types of a file. Raises InputError that names file, entry and field."""
    types: dict[str, InstanceType] = {}
    for number, raw in enumerate(_entries(path), start=1):
        try:
            kind = _instance_type(msgspec.json.decode(raw, type=_Entry))
            known = types.get(kind.name)
            types[kind.name] = kind if known is None else _merge(known, kind)
        except (msgspec.DecodeError, RecursionError, _FieldError) as error:
            msg = f"{path}: instance type {number}{_name_of(raw)}: {_field_first(str(error))}"
            raise InputError(msg) from None
    return tuple(types.values())


def _entries(path: Path | str) -> list[msgspec.Raw]:
    try:
        entries = msgspec.json.decode(Path(path).read_bytes(), type=list[msgspec.Raw])
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise InputError(msg) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        msg = f"{path}: expected a JSON list of instance types: {error}"
        raise InputError(msg) from None
    if not entries:
        msg = f"{path}: holds no instance types; expected a JSON list with at least one"
        raise InputError(msg)
    return entries


def _name_of(raw: msgspec.Raw) -> str:
    """Its name in brackets, if it has one, for messages."""
    try:
        name = msgspec.json.decode(raw, type=_Named).name
    except (msgspec.DecodeError, RecursionError):
        return ""
    return f" ({name[:80]})" if name else ""


def _field_first(message: str) -> str:
    """A decoder's message, turned round to name the field first."""
    problem, _, place = message.partition(" - at `$")
    field = place.rstrip("`").removeprefix(".")
    return f"{field}: {problem}" if field else problem


def _instance_type(entry: _Entry) -> InstanceType:
    _check(entry)
    capacity = {PODS: _DEFAULT_PODS} | _amounts("resources", entry.resources)
    overhead = dict(_DEFAULT_OVERHEAD) if entry.overhead is None else entry.overhead
    make = Make(
        name=entry.name,
        architectures=(_ARCHITECTURES.get(entry.architecture, entry.architecture),),
        operating_systems=tuple(sorted(set(entry.operating_systems))),
        capacity=capacity,
        offerings=tuple(
            _offering(entry.name, offering, f"offerings[{index}]")
            for index, offering in enumerate(entry.offerings)
        ),
    )
    return InstanceType(
        name=make.name,
        requirements=all_labels(make, _stated_labels(entry)),
        capacity=capacity,
        allocatable=allocatable(capacity, _amounts("overhead", {**overhead})),
        offerings=make.offerings,
        attach_limits=entry.attach_limits,
    )


def _check(entry: _Entry) -> None:
    for field, value in (
        ("name", entry.name),
        ("architecture", entry.architecture),
        ("operatingSystems", entry.operating_systems),
    ):
        if not value:
            raise _FieldError(field=field, problem="is empty")
    for name in (CPU, MEMORY):
        if name not in entry.resources:
            problem = "is missing; expected a quantity"
            raise _FieldError(field=f"resources.{name}", problem=problem)
    for driver, count in entry.attach_limits.items():
        if count < 0:
            problem = f"expected no less than 0, not {count}"
            raise _FieldError(field=f"attachLimits.{driver}", problem=problem)


def _amounts(field: str, quantities: Mapping[str, str | int | float]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for name, text in quantities.items():
        try:
            amounts[name] = quantity.amount(name, text)
        except ValueError as error:
            raise _FieldError(field=f"{field}.{name}", problem=str(error)) from None
        if amounts[name] < 0:
            problem = f"expected no less than 0, not {text}"
            raise _FieldError(field=f"{field}.{name}", problem=problem)
    return amounts


def _stated_labels(entry: _Entry) -> tuple[Requirement, ...]:
    return tuple(
        among(labels.normalize(key), _values(value)) for key, value in entry.labels.items()
    )


def _values(value: str | list[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(sorted(set(value)))


def _offering(type_name: str, offering: _Offering, field: str) -> Offering:
    if not 0 <= offering.price <= _MOST_DOLLARS:
        expected = f"expected dollars per hour from 0 to {_MOST_DOLLARS}, not {offering.price}"
        raise _FieldError(field=f"{field}.Price", problem=expected)
    fixed = _requirements(offering, f"{field}.Requirements")
    zone = _single_value(fixed, labels.ZONE, field)
    capacity_type = _single_value(fixed, labels.CAPACITY_TYPE, field)
    if capacity_type not in labels.CAPACITY_TYPES:
        expected = f"expected one of {', '.join(labels.CAPACITY_TYPES)}, not {capacity_type!r}"
        problem = f"{labels.CAPACITY_TYPE}: {expected}"
        raise _FieldError(field=f"{field}.Requirements", problem=problem)
    is_reserved = capacity_type == labels.RESERVED
    return Offering(
        zone=zone,
        capacity_type=capacity_type,
        price_nanousd=money.nanousd(offering.price),
        requirements=fixed,
        is_available=offering.available,
        # Without a label to tell reservations apart, there is one for each type and zone.
        reservation_id=(reservation_id(fixed) or f"{type_name}/{zone}") if is_reserved else "",
        reservation_capacity=max(offering.reservation_capacity, 0) if is_reserved else 0,
    )


def _requirements(offering: _Offering, field: str) -> Requirements:
    stated = []
    for index, need in enumerate(offering.requirements):
        if need.operator not in _OPERATORS:
            expected = f"expected one of {', '.join(_OPERATORS)}, not {need.operator!r}"
            raise _FieldError(field=f"{field}[{index}].operator", problem=expected)
        try:
            stated.append(requirement(need.key, need.operator, need.values))
        except ValueError as error:
            raise _FieldError(field=f"{field}[{index}].values", problem=str(error)) from None
    return Requirements(stated)


def _single_value(fixed: Requirements, key: str, field: str) -> str:
    need = fixed.get(key)
    if need is None or need.operator is not Operator.IN or len(need.values) != 1:
        expected = f"expected {key} In with exactly one value"
        raise _FieldError(field=f"{field}.Requirements", problem=expected)
    (value,) = need.values
    return value


def _merge(first: InstanceType, other: InstanceType) -> InstanceType:
    """One type of two entries that differ in architecture or operating system only."""
    if (first.capacity, first.allocatable, first.offerings) != (
        other.capacity,
        other.allocatable,
        other.offerings,
    ):
        problem = "an earlier entry has this name but other resources or offerings"
        raise _FieldError(field="name", problem=problem)
    wider = [
        among(key, tuple(sorted(first.requirements[key].values | other.requirements[key].values)))
        for key in (labels.ARCH, labels.OS)
    ]
    kept = [
        need for need in first.requirements.values() if need.key not in {labels.ARCH, labels.OS}
    ]
    return msgspec.structs.replace(first, requirements=Requirements([*kept, *wider]))


Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


def render(types: Iterable[InstanceType]) -> str:
    """The same types as a file in the kwok format."""
    entries = [entry for kind in types for entry in _entries_of(kind)]
    return msgspec.json.format(msgspec.json.encode(entries), indent=1).decode() + "\n"


def _entries_of(kind: InstanceType) -> list[dict[str, Json]]:
    """One entry for each architecture, since an entry names just one."""
    overhead = _overhead(kind)
    common: dict[str, Json] = {
        "operatingSystems": _sorted_json(kind.requirements[labels.OS].values),
        "resources": _quantities(kind.capacity),
        "offerings": [_rendered_offering(offering) for offering in kind.offerings],
    }
    if overhead != _amounts("overhead", _DEFAULT_OVERHEAD):
        common["overhead"] = _quantities(overhead)
    if stated := _labels(kind):
        common["labels"] = stated
    if kind.attach_limits:
        common["attachLimits"] = dict(kind.attach_limits)
    return [
        {"name": kind.name, "architecture": architecture, **common}
        for architecture in sorted(kind.requirements[labels.ARCH].values)
    ]


def _overhead(kind: InstanceType) -> dict[str, int]:
    unreserved = allocatable(kind.capacity, {})
    return {
        name: amount - kind.allocatable[name]
        for name, amount in unreserved.items()
        if amount != kind.allocatable[name]
    }


def _labels(kind: InstanceType) -> dict[str, Json]:
    """What reading would not derive."""
    make = Make(
        name=kind.name,
        architectures=tuple(sorted(kind.requirements[labels.ARCH].values)),
        operating_systems=tuple(sorted(kind.requirements[labels.OS].values)),
        capacity=kind.capacity,
        offerings=kind.offerings,
    )
    derived = all_labels(make)
    return {
        need.key: _label(kind.name, need)
        for need in kind.requirements.sorted()
        if derived.get(need.key) != need
    }


def _label(type_name: str, need: Requirement) -> Json:
    if need.complement:
        msg = f"{type_name}: {need} has no end of values and cannot be written as a label"
        raise ValueError(msg)
    values = _sorted_json(need.values)
    if not values:
        return None
    return values[0] if len(values) == 1 else values


def _rendered_offering(offering: Offering) -> dict[str, Json]:
    rendered: dict[str, Json] = {
        "Price": money.dollars(offering.price_nanousd),
        "Available": offering.is_available,
        "Requirements": [
            {"key": key, "operator": str(operator), "values": [*values]}
            for need in offering.requirements.sorted()
            for key, operator, values, _ in need.wire()
        ],
    }
    if offering.capacity_type == labels.RESERVED:
        rendered["ReservationCapacity"] = offering.reservation_capacity
    return rendered


def _quantities(amounts: Mapping[str, int]) -> dict[str, Json]:
    return {name: quantity.render(name, amount) for name, amount in sorted(amounts.items())}


def _sorted_json(values: Iterable[str]) -> list[Json]:
    return [*sorted(values)]
