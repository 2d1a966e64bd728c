"""Defines a flag, and the table of flags from which a struct of settings is read.

The operator's settings have one (`settings/flags.py`), and each provider brings one of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

import msgspec

from dovetail.settings import readings
from dovetail.units import duration


class Flag(msgspec.Struct, frozen=True):
    """One setting: `--name`, its environment name (empty: it has none), and how it is read. It sets
    the field of the same name, unless `sets` names another.
    """

    name: str
    environment: str
    panel: str
    help: str
    read: Callable[[str], object] = str
    metavar: str = "TEXT"
    sets: str = ""

    @property
    def field(self) -> str:
        """The field of the settings that it sets."""
        return self.sets or self.name.replace("-", "_")

    @property
    def is_switch(self) -> bool:
        """Whether it is true or false; the bare flag means true."""
        return self.read is readings.truth


class SettingsTable(msgspec.Struct, frozen=True):
    """Settings with their defaults, and the flags that set them."""

    defaults: msgspec.Struct
    flags: tuple[Flag, ...] = ()

    def default(self, flag: Flag) -> str:
        """The value without the flag, as it would be written."""
        return flag_text(getattr(self.defaults, flag.field))


class NoSettings(msgspec.Struct, frozen=True):
    """The settings of a provider that has none."""


def flag_text(value: object) -> str:
    """A setting as one would write it in a flag."""
    match value:
        case bool():
            return "true" if value else "false"
        case timedelta():
            return duration.render(value)
        case tuple():
            return ",".join(str(part) for part in value)
        case Mapping():
            return ",".join(f"{name}={flag_text(item)}" for name, item in sorted(value.items()))
        case _:
            return str(value)
