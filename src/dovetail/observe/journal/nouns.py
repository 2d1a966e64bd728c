"""Encodes nouns of `model` as msgpack, field by field, by name, and decodes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail.model.requirements import Requirement, Requirements

_LISTED: Final = tuple[Requirement, ...]


def _plainer(value: object) -> object:
    """Requirements as the list that they are made of, any other mapping as a dictionary."""
    if isinstance(value, Requirements):
        return tuple(value.values())
    if isinstance(value, Mapping):
        return dict(value)
    msg = f"a {type(value).__name__} cannot be written down"
    raise TypeError(msg)


def restored(wanted: type, value: object) -> object:
    """Requirements of the list that was written."""
    if wanted is Requirements:
        return Requirements(msgspec.convert(value, _LISTED))
    msg = f"a {wanted.__name__} cannot be read back"
    raise TypeError(msg)


encoder: Final = msgspec.msgpack.Encoder(enc_hook=_plainer)
"""Writes any noun."""
