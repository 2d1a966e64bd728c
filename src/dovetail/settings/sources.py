"""Which value of a setting holds? The flag's, else the variable's, else the default.

An empty variable counts as none: charts write one for every value that is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from dovetail.errors import InputError
from dovetail.model.topology import Spread
from dovetail.settings.flags import FLAGS, TABLE
from dovetail.settings.operator import OperatorSettings
from dovetail.settings.readings import MalformedError, feature_gates
from dovetail.settings.scheduler import default_spread
from dovetail.settings.table import Flag, SettingsTable

# The words that Go takes for truth in a variable; a flag takes only the first of each.
_TRUE: Final = frozenset({"true", "1", "t", "T", "TRUE", "True"})
_FALSE: Final = frozenset({"false", "0", "f", "F", "FALSE", "False"})
_SCHEDULER_CONFIG: Final = next(flag for flag in FLAGS if flag.name == "scheduler-config")


def read(given: Mapping[str, str], environment: Mapping[str, str]) -> OperatorSettings:
    """The settings of flags, by name without dashes, and environment. Raises InputError."""
    settings = msgspec.structs.replace(
        OperatorSettings(), **_changes(TABLE.flags, given, environment)
    )
    spread = _default_spread(settings.scheduler_config, _origin(_SCHEDULER_CONFIG, given))
    return msgspec.structs.replace(settings, default_spread=spread)


def read_table(
    table: SettingsTable, given: Mapping[str, str], environment: Mapping[str, str]
) -> msgspec.Struct:
    """The settings of a table: its defaults, with what flags and environment say.

    Raises InputError, also where the settings themselves refuse a value (ValueError).
    """
    changes = _changes(table.flags, given, environment)
    try:
        return msgspec.structs.replace(table.defaults, **changes)
    except ValueError as error:
        raise InputError(str(error)) from error


def _changes(
    flags: Iterable[Flag], given: Mapping[str, str], environment: Mapping[str, str]
) -> dict[str, object]:
    values = ((flag.field, _value(flag, given, environment)) for flag in flags)
    return {field: value for field, value in values if value is not None}


def _value(flag: Flag, given: Mapping[str, str], environment: Mapping[str, str]) -> object:
    """What was said about a setting; None if nothing, or nothing that makes sense."""
    origin = _origin(flag, given)
    if flag.name in given:
        return _read(flag, given[flag.name], origin)
    text = environment.get(flag.environment, "") if flag.environment else ""
    if not text:
        return None
    try:
        return _read(flag, _as_flag(text) if flag.is_switch else text, origin)
    except InputError as error:
        if isinstance(error.__cause__, MalformedError):
            return None
        raise


def _origin(flag: Flag, given: Mapping[str, str]) -> str:
    return f"--{flag.name}" if flag.name in given else flag.environment


def _read(flag: Flag, text: str, origin: str) -> object:
    if flag.read is feature_gates:
        return feature_gates(text, origin)
    try:
        return flag.read(text)
    except ValueError as error:
        msg = f"{origin}: {error}"
        raise InputError(msg) from error


def _default_spread(path: str, origin: str) -> tuple[Spread, ...]:
    try:
        return default_spread(path)
    except InputError as error:
        msg = f"{origin}: {error}"
        raise InputError(msg) from error


def _as_flag(text: str) -> str:
    if text in _TRUE:
        return "true"
    return "false" if text in _FALSE else text
