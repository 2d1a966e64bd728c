"""Parses the one-line forms of requirements, taints, tolerations and ports.

zone In a, b            a requirement (short names of well-known labels are understood)
dedicated=gpu:NoSchedule    a taint, and the toleration of exactly that taint
dedicated                   tolerates every value and effect of that key
*                           tolerates everything
tier > 3                    tolerates integer values above 3 (Gt; < is Lt)
8080, 53/UDP, 10.0.0.1:80   host ports
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from dovetail import labels
from dovetail.model.requirements import Requirement, requirement
from dovetail.model.taints import Effect, Taint, Toleration, TolerationOperator
from dovetail.model.topology import HostPort, LabelSelector, NodeTerm, equality
from dovetail.units import quantity

SHORT_KEYS: Final = {
    "zone": labels.ZONE,
    "region": labels.REGION,
    "hostname": labels.HOSTNAME,
    "arch": labels.ARCH,
    "os": labels.OS,
    "instance-type": labels.INSTANCE_TYPE,
    "capacity-type": labels.CAPACITY_TYPE,
    "nodepool": labels.NODE_POOL,
    "name": labels.NODE_NAME_FIELD,
}
_COMPARING: Final = re.compile(r"(?P<key>[^\s=:<>]+)\s*(?P<sign>[<>])\s*(?P<value>-?[0-9]+)")
_PORT: Final = re.compile(r"(?:(?P<ip>.+):)?(?P<port>[0-9]+)(?:/(?P<protocol>TCP|UDP|SCTP))?")


def key(short: str) -> str:
    """The label key that a short name stands for; any other key stands for itself."""
    return SHORT_KEYS.get(short, short)


def keys(by_short: Mapping[str, str]) -> dict[str, str]:
    """The same labels under their full keys."""
    return {key(short): value for short, value in by_short.items()}


def expression(text: str, min_values: int | None = None) -> Requirement:
    """A requirement: `KEY OPERATOR VALUE, VALUE`."""
    short, _, rest = text.strip().partition(" ")
    operator, _, listed = rest.strip().partition(" ")
    values = [value.strip() for value in listed.split(",")] if listed.strip() else []
    try:
        return requirement(key(short), operator, values, min_values)
    except ValueError as error:
        msg = f"{text!r} is not a requirement like `zone In a, b`: {error}"
        raise ValueError(msg) from error


def term(expressions: Iterable[str]) -> NodeTerm:
    """A node affinity term; expressions on `name` are about the node's name, not its labels."""
    parsed = [expression(text) for text in expressions]
    return NodeTerm(
        expressions=tuple(item for item in parsed if item.key != labels.NODE_NAME_FIELD),
        fields=tuple(item for item in parsed if item.key == labels.NODE_NAME_FIELD),
    )


def selector(wanted: Mapping[str, str] | list[str]) -> LabelSelector:
    """A label selector: a map of equal labels, or a list of expressions."""
    if isinstance(wanted, Mapping):
        return equality(wanted)
    return LabelSelector(tuple(expression(text) for text in wanted))


def taint(text: str) -> Taint:
    """A taint: `KEY=VALUE:EFFECT`, the value may be left out."""
    head, _, effect = text.partition(":")
    name, _, value = head.partition("=")
    if effect not in set(Effect):
        msg = f"{text!r} is not a taint like `dedicated=gpu:NoSchedule`"
        raise ValueError(msg)
    return Taint(name, value, effect)


def toleration(text: str) -> Toleration:
    """A toleration: a taint, a key, a comparison, or `*`."""
    if text == "*":
        return Toleration(operator=TolerationOperator.EXISTS)
    if compared := _COMPARING.fullmatch(text):
        greater = compared["sign"] == ">"
        operator = TolerationOperator.GT if greater else TolerationOperator.LT
        return Toleration(compared["key"], operator, compared["value"])
    head, _, effect = text.partition(":")
    name, equals, value = head.partition("=")
    operator = TolerationOperator.EQUAL if equals else TolerationOperator.EXISTS
    return Toleration(name, operator, value, effect)


def host_port(text: str | int) -> HostPort:
    """A host port: `PORT`, `PORT/PROTOCOL` or `IP:PORT/PROTOCOL`."""
    match = _PORT.fullmatch(str(text))
    if match is None:
        msg = f"{text!r} is not a host port like `8080`, `53/UDP` or `10.0.0.1:80`"
        raise ValueError(msg)
    port, protocol = int(match["port"]), match["protocol"] or "TCP"
    return HostPort(port, protocol, match["ip"]) if match["ip"] else HostPort(port, protocol)


def resources(written: Mapping[str, str | int | float]) -> dict[str, int]:
    """Amounts by resource, as exact integers."""
    return {name: quantity.amount(name, text) for name, text in written.items()}
