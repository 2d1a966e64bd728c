"""Splits JSON text into documents, undecoded where there is only one.

Large dumps are one document, which stays bytes: only what is needed is ever decoded. Several
documents in a row, which few tools write, are taken apart the slow way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from dovetail import api
from dovetail.errors import InputError
from dovetail.kube import yaml_trees

_whole: Final = msgspec.json.Decoder(msgspec.Raw)
_lists: Final = msgspec.json.Decoder(api.Envelope)
_one: Final = json.JSONDecoder()
_BLANKS: Final = re.compile(r"\s*")
_MORE_FOLLOWS: Final = "trailing characters"
_LARGEST_FLOW_YAML: Final = 16 << 20  # YAML that begins like JSON is written by hand


def documents(
    name: str, data: bytearray
) -> Iterator[tuple[int, api.Envelope | msgspec.Raw | api.Tree]]:
    """Every document with its number from 1. Raises InputError."""
    listed = _split_list(data)
    if listed is not None:
        yield 1, listed
        return
    try:
        raw = _whole.decode(data)
    except RecursionError:
        msg = f"{name}, document 1: nested too deep; expected a manifest"
        raise InputError(msg) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        complaint = str(error).removeprefix("JSON is malformed: ")
        has_more = _MORE_FOLLOWS in complaint
        yield from _several(name, data) if has_more else _flow(name, data, complaint)
        return
    yield 1, raw


def is_list(api_version: str, kind: str) -> bool:
    """Whether it stands for its items: `List`, or a list of a kind that is not itself known."""
    return kind.endswith("List") and api.find(api_version, kind) is None


def _split_list(data: bytearray) -> api.Envelope | None:
    """The list that all of it is, taken apart while it is first looked at: large dumps are lists.
    None for anything else, and for what is wrong, which is found out below.
    """
    try:
        envelope = _lists.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return (
        envelope if envelope.api_version and is_list(envelope.api_version, envelope.kind) else None
    )


def _several(name: str, data: bytearray) -> Iterator[tuple[int, api.Tree]]:
    """Documents in a row, with nothing but blanks between them."""
    number = 1
    try:
        text = data.decode()
        at = 0
        while at < len(text):
            tree, end = _one.raw_decode(text, at)
            yield number, tree
            number += 1
            blanks = _BLANKS.match(text, end)
            at = blanks.end() if blanks else end
    except (ValueError, RecursionError) as error:
        msg = f"{name}, document {number}: malformed JSON ({error}); expected well-formed JSON"
        raise InputError(msg) from None


def _flow(name: str, data: bytearray, complaint: str) -> Iterator[tuple[int, api.Tree]]:
    """YAML that begins like JSON; where it is not that either, the complaint about the JSON."""
    refusal = InputError(
        f"{name}, document 1: malformed JSON ({complaint}); expected well-formed JSON"
    )
    if name.endswith(".json") or len(data) > _LARGEST_FLOW_YAML:
        raise refusal
    try:
        yield from yaml_trees.trees(data)
    except yaml_trees.YamlError:
        raise refusal from None
