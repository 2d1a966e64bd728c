"""Defines the settings of the kwok provider, and the flags that set them."""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail.settings.table import Flag, SettingsTable

_PANEL: Final = "Provider kwok"


class KwokSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Files of instance types and of faults; without them the generic grid, and no faults."""

    instance_types_file_path: str = ""
    kwok_faults_file_path: str = ""


TABLE: Final = SettingsTable(
    KwokSettings(),
    (
        Flag(
            "instance-types-file-path",
            "INSTANCE_TYPES_FILE_PATH",
            _PANEL,
            "Instance types of the kwok provider, a file in its format. Default: the generic grid.",
            metavar="FILE",
        ),
        Flag(
            "kwok-faults-file-path",
            "KWOK_FAULTS_FILE_PATH",
            _PANEL,
            "Faults that the kwok provider simulates, a JSON list. Default: none.",
            metavar="FILE",
        ),
    ),
)
