"""Reads the body of a request: objects, patches, and options of a deletion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from aiohttp import web

from dovetail.apiserver import refusals
from dovetail.apiserver.http import protobuf
from dovetail.apiserver.trees import Obj
from dovetail.kube.seam import Deletion, Json, Patch, PatchType, Propagation, WriteOptions
from dovetail.kube.yaml_trees import YamlError, trees

_JSON: Final = "application/json"
_YAML: Final = "application/yaml"
_decoder: Final = msgspec.json.Decoder()


async def object_in(request: web.Request) -> Obj:
    """The object that was sent. Raises InvalidError."""
    tree = await _tree(request, (_JSON, _YAML, protobuf.CONTENT_TYPE))
    if not isinstance(tree, dict):
        msg = "expected an object"
        raise refusals.bad_request(msg)
    return tree


async def patch_in(request: web.Request, subresource: str) -> Patch:
    """The patch that was sent. Raises InvalidError."""
    try:
        how = PatchType(request.content_type)
    except ValueError:
        raise refusals.unsupported_error(request.content_type) from None
    tree = await _tree(request, tuple(PatchType))
    if not isinstance(tree, dict | list):
        msg = "expected a patch"
        raise refusals.bad_request(msg)
    return Patch(
        body=tree,
        type=how,
        subresource=subresource,
        manager=manner_of(request).manager,
        force=request.query.get("force") == "true",
    )


def manner_of(request: web.Request) -> WriteOptions:
    """For whom a request writes, and whether it is only a trial. Raises InvalidError."""
    tried = request.query.getall("dryRun", [])
    if any(item != "All" for item in tried):
        msg = f"dryRun: unknown value {tried[0]!r}"
        raise refusals.bad_request(msg)
    return WriteOptions(request.query.get("fieldManager") or _agent(request), bool(tried))


async def deletion_in(request: web.Request) -> Deletion:
    """How something is to be deleted, by the body or else by the query."""
    body = await object_in(request) if request.can_read_body else {}
    return deletion({**_from_query(request.query), **body})


def deletion(options: Obj) -> Deletion:
    """What DeleteOptions say. Raises InvalidError."""
    wanted = options.get("preconditions")
    preconditions = wanted if isinstance(wanted, dict) else {}
    grace = options.get("gracePeriodSeconds")
    try:
        propagation = Propagation(str(options.get("propagationPolicy") or Propagation.BACKGROUND))
    except ValueError:
        msg = f"propagationPolicy: unknown value {options.get('propagationPolicy')!r}"
        raise refusals.bad_request(msg) from None
    return Deletion(
        uid=str(preconditions.get("uid") or ""),
        resource_version=str(preconditions.get("resourceVersion") or ""),
        grace_seconds=grace if isinstance(grace, int) else None,
        propagation=propagation,
    )


def _from_query(query: Mapping[str, str]) -> Obj:
    result: Obj = {}
    if "propagationPolicy" in query:
        result["propagationPolicy"] = query["propagationPolicy"]
    if query.get("gracePeriodSeconds", "").isdigit():
        result["gracePeriodSeconds"] = int(query["gracePeriodSeconds"])
    return result


def _agent(request: web.Request) -> str:
    """Who owns fields that nobody is named for: the program that calls."""
    return request.headers.get("User-Agent", "").partition("/")[0] or "unknown"


async def _tree(request: web.Request, allowed: tuple[str, ...]) -> Json:
    if request.content_type not in (*allowed, "application/octet-stream"):
        raise refusals.unsupported_error(request.content_type)
    data = await request.read()
    if request.content_type == protobuf.CONTENT_TYPE:
        return _from_protobuf(data)
    try:
        tree: Json = _decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if not request.content_type.endswith("yaml"):
            msg = f"the object provided is unrecognized: {error}"
            raise refusals.bad_request(msg) from None
        return _from_yaml(data)
    return tree


def _from_yaml(data: bytes) -> Json:
    try:
        document = next(trees(data), (0, None))
        tree: Json = _decoder.decode(msgspec.json.encode(document[1]))
    except (YamlError, msgspec.MsgspecError, TypeError) as error:
        msg = f"the object provided is unrecognized: {error}"
        raise refusals.bad_request(msg) from None
    return tree


def _from_protobuf(data: bytes) -> Json:
    try:
        return protobuf.object_of(data)
    except ValueError as error:
        msg = f"the object provided is unrecognized: {error}"
        raise refusals.bad_request(msg) from None
