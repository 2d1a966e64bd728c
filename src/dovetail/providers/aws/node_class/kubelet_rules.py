"""Checks the structure and the values of `spec.kubelet`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Final

from dovetail.errors import InputError
from dovetail.providers.aws.node_class.kubelet_keys import (
    FORBIDDEN,
    RESOURCES,
    SHAPES,
    SIGNALS,
    KeyShape,
)
from dovetail.units import duration, quantity

INVALID_CONFIGURATION: Final = "InvalidKubeletConfiguration"
UNSUPPORTED_CONFIGURATION: Final = "UnsupportedKubeletConfiguration"
EXPRESSIONS_DISABLED: Final = "KubeletExpressionsDisabled"
EXPRESSION_INVALID: Final = "KubeletExpressionInvalid"
EXPRESSION_EVALUATION_FAILED: Final = "KubeletExpressionEvaluationFailed"

_MOST: Final = 2**31 - 1
_PERCENT: Final = re.compile(r"[0-9]{1,3}(\.[0-9]{1,9})?%", re.ASCII)
_COUNT: Final = re.compile(r"[0-9]{1,10}", re.ASCII)
_NOT_NEGATIVE: Final = ("maxPods", "podsPerCore", "evictionMaxPodGracePeriod")
_PERCENTAGES: Final = ("imageGCHighThresholdPercent", "imageGCLowThresholdPercent")
_SOFT: Final = "evictionSoft"
_THRESHOLDS: Final = ("evictionHard", _SOFT)
_GRACE_PERIODS: Final = "evictionSoftGracePeriod"
_RESERVED: Final = ("systemReserved", "kubeReserved")
_CLUSTER_DNS: Final = "clusterDNS"
_WHOLE: Final = 100


class KubeletError(InputError):
    """A field of `spec.kubelet` cannot be used; `reason` is that of the status condition."""

    def __init__(self, field: str, message: str, *, reason: str = INVALID_CONFIGURATION) -> None:
        super().__init__(f"spec.kubelet.{field}: {message}")
        self.field = field
        self.message = message
        self.reason = reason


def check_values(tree: Mapping[str, object]) -> None:
    """Check every rule that needs no expression. Raises KubeletError."""
    for key, value in tree.items():
        _check_shape(key, value)
    _check_numbers(tree)
    for address in _items(tree, _CLUSTER_DNS):
        _check_address(address)
    for key in _THRESHOLDS:
        _check_map(tree, key, SIGNALS, _check_threshold)
    _check_map(tree, _GRACE_PERIODS, SIGNALS, _check_grace_period)
    for key in _RESERVED:
        _check_map(tree, key, RESOURCES, _check_reserved)
    _check_soft_eviction(tree)


def is_expression(text: str) -> bool:
    """Whether the text is not a quantity, and so an expression."""
    try:
        quantity.parse(text)
    except ValueError:
        return True
    return False


def parse_count(text: str) -> int | None:
    """The number that a text spells; None if it spells none."""
    return int(text) if _COUNT.fullmatch(text) else None


def _check_shape(key: str, value: object) -> None:
    if key == FORBIDDEN:
        message = "is set by the controller; expected taints in the NodePool instead"
        raise KubeletError(key, message)
    shape = SHAPES.get(key)
    if shape is None:
        raise KubeletError(key, "is unknown; expected a key of KubeletConfiguration v1beta1")
    is_text_for_pods = key == "maxPods" and isinstance(value, str)
    if not is_text_for_pods and not _IS_OF_SHAPE[shape](value):
        raise KubeletError(key, f"is {value!r}; expected {shape}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


_IS_OF_SHAPE: Final[Mapping[KeyShape, Callable[[object], bool]]] = {
    KeyShape.BOOL: lambda value: isinstance(value, bool),
    KeyShape.COUNT: _is_whole,
    KeyShape.NUMBER: lambda value: isinstance(value, float) or _is_whole(value),
    KeyShape.TEXT: lambda value: isinstance(value, str),
    KeyShape.DURATION: lambda value: isinstance(value, str) and _is_duration(value),
    KeyShape.TEXTS: lambda value: isinstance(value, list) and _is_texts(value),
    KeyShape.LIST: lambda value: isinstance(value, list),
    KeyShape.TEXT_MAP: lambda value: isinstance(value, dict) and _is_texts(value.values()),
    KeyShape.OBJECT: lambda value: isinstance(value, dict),
}


def _check_numbers(tree: Mapping[str, object]) -> None:
    for key in (*_NOT_NEGATIVE, *_PERCENTAGES):
        given = tree.get(key)
        number = parse_count(given) if isinstance(given, str) else given
        most = _WHOLE if key in _PERCENTAGES else _MOST
        if isinstance(number, int) and not 0 <= number <= most:
            raise KubeletError(key, f"is {number}; expected a number from 0 to {most}")
    high, low = (tree.get(key) for key in _PERCENTAGES)
    if isinstance(high, int) and isinstance(low, int) and high <= low:
        message = f"is {high}; expected more than imageGCLowThresholdPercent, which is {low}"
        raise KubeletError(_PERCENTAGES[0], message)


def _check_map(
    tree: Mapping[str, object],
    key: str,
    names: tuple[str, ...],
    check: Callable[[str, str], None],
) -> None:
    for name, value in sorted(_entries(tree, key).items()):
        field = f"{key}.{name}"
        if name not in names:
            raise KubeletError(field, f"is unknown; expected one of {', '.join(names)}")
        check(field, value)


def _check_address(address: str) -> None:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        message = f"has {address!r}; expected IP addresses such as 10.100.0.10"
        raise KubeletError(_CLUSTER_DNS, message) from None


def _check_threshold(field: str, text: str) -> None:
    if _PERCENT.fullmatch(text) and float(text[:-1]) <= _WHOLE:
        return
    if is_expression(text) or quantity.parse(text) < 0:
        message = f'is {text!r}; expected "0%" to "100%", or a quantity that is not negative'
        raise KubeletError(field, message)


def _check_grace_period(field: str, text: str) -> None:
    if not _is_duration(text):
        raise KubeletError(field, f'is {text!r}; expected a duration such as "1m30s"')


def _check_reserved(field: str, text: str) -> None:
    if not text.strip():
        raise KubeletError(field, "is empty; expected a quantity or an expression")
    if not is_expression(text) and quantity.parse(text) < 0:
        raise KubeletError(field, f"is {text!r}; expected a quantity that is not negative")


def _check_soft_eviction(tree: Mapping[str, object]) -> None:
    for key, other in ((_SOFT, _GRACE_PERIODS), (_GRACE_PERIODS, _SOFT)):
        for name in sorted(_entries(tree, key).keys() - _entries(tree, other).keys()):
            field = f"{key}.{name}"
            raise KubeletError(field, f"stands alone; expected {other} with the same key")


def _is_duration(text: str) -> bool:
    try:
        return duration.parse(text) >= timedelta(0)
    except ValueError:
        return False


def _entries(tree: Mapping[str, object], key: str) -> dict[str, str]:
    value = tree.get(key)
    return value if isinstance(value, dict) else {}


def _items(tree: Mapping[str, object], key: str) -> list[str]:
    value = tree.get(key)
    return value if isinstance(value, list) else []
