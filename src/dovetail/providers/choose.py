"""Which catalogue does a name mean, and which one fits a pool? A built-in one, or a file."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from dovetail.cloud import catalogue_file
from dovetail.errors import InputError
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodePool
from dovetail.providers.aws import catalogue as aws
from dovetail.providers.kwok import catalogue as generic

BUILT_IN: Final[dict[str, Callable[[], tuple[InstanceType, ...]]]] = {
    "generic": generic.instance_types,
    "aws": aws.instance_types,
}
_BY_NODE_CLASS: Final = {"EC2NodeClass": "aws"}


def by_name(name_or_path: str) -> tuple[InstanceType, ...]:
    """The catalogue. Raises InputError when there is none of this name, or its file is broken."""
    if name_or_path in BUILT_IN:
        return BUILT_IN[name_or_path]()
    if not Path(name_or_path).exists():
        names = ", ".join(sorted(BUILT_IN))
        msg = f"no catalogue {name_or_path!r}: expected one of {names}, or a file in kwok format"
        raise InputError(msg)
    return catalogue_file.read(name_or_path)


def fitting(pool: NodePool, in_use: Collection[str]) -> str:
    """The name of the built-in catalogue that knows these types of nodes. Where none does, or there
    are no nodes yet, that of the pool's node class.
    """
    usual = _BY_NODE_CLASS.get(pool.node_class.kind, "generic")
    for name in (usual, *sorted(BUILT_IN.keys() - {usual})):
        if any(one.name in in_use for one in BUILT_IN[name]()):
            return name
    return usual
