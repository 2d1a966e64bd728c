"""Which catalogue does a name mean? One of the built-in ones, or a file in the kwok format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from dovetail.cloud import catalogue_file
from dovetail.errors import InputError
from dovetail.model.instance import InstanceType
from dovetail.providers.aws import catalogue as aws
from dovetail.providers.kwok import catalogue as generic

BUILT_IN: Final[dict[str, Callable[[], tuple[InstanceType, ...]]]] = {
    "generic": generic.instance_types,
    "aws": aws.instance_types,
}


def by_name(name_or_path: str) -> tuple[InstanceType, ...]:
    """The catalogue. Raises InputError when there is none of this name, or its file is broken."""
    if name_or_path in BUILT_IN:
        return BUILT_IN[name_or_path]()
    if not Path(name_or_path).exists():
        names = ", ".join(sorted(BUILT_IN))
        msg = f"no catalogue {name_or_path!r}: expected one of {names}, or a file in kwok format"
        raise InputError(msg)
    return catalogue_file.read(name_or_path)
