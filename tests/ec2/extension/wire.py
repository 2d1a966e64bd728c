"""Reads requests and writes answers in the shapes of botocore's service models.

Writing is strict: a member that the model does not have is an error, so that no answer can have a
shape that AWS never sends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote
from xml.sax.saxutils import escape

from botocore.loaders import Loader
from botocore.model import ListShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.parsers import create_parser

Tree = dict[str, Any]

SERVICES = frozenset({"arc-zonal-shift", "ec2", "eks", "iam", "pricing", "sqs", "ssm", "sts"})
_SCOPE = re.compile(r"Credential=[^/]+/[^/]+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")
_REQUEST_ID = "00000000-0000-4000-8000-000000000000"


class AwsError(Exception):
    """An error as AWS answers it."""

    def __init__(self, code: str, message: str = "", status: int = 400) -> None:
        super().__init__(code)
        self.code = code
        self.message = message or code
        self.status = status


class ShapeError(Exception):
    """An answer that does not fit the service model."""


@dataclass(frozen=True)
class Request:
    """One call: who asks what of which service."""

    service: str
    region: str
    action: str
    parameters: Tree


@dataclass(frozen=True)
class Answer:
    """An HTTP answer."""

    body: bytes
    status: int = 200
    content_type: str = "text/xml"
    error_code: str = ""
    headers: tuple[tuple[str, str], ...] = ()  # further ones, of the service


@cache
def model(service: str) -> ServiceModel:
    """The service model, as botocore ships it."""
    return ServiceModel(Loader().load_service_model(service, "service-2"), service)


@cache
def paginators(service: str) -> Tree:
    """Which operations are paged, and how their tokens are called."""
    pagination: Tree = Loader().load_service_model(service, "paginators-1")["pagination"]
    return pagination


def operation(request: Request) -> OperationModel:
    """The model of the operation that is called."""
    return model(request.service).operation_model(request.action)


# ---------------------------------------------------------------- requests


def read_request(environ: Mapping[str, Any], body: bytes) -> Request | None:
    """The call in an HTTP request; None if it is for a service that is none of ours."""
    scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    if scope is None or scope["service"] not in SERVICES:
        return None
    service, region = scope["service"], scope["region"]
    protocol = model(service).metadata["protocol"]
    if protocol in ("ec2", "query"):
        form = dict(parse_qsl(body.decode(), keep_blank_values=True))
        action = form.get("Action", "")
        return Request(service, region, action, _read_form(service, action, form))
    if protocol == "json":
        action = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
        return Request(service, region, action, json.loads(body or b"{}"))
    # As it was sent: an ARN in it has slashes, which are escaped.
    path = environ.get("REQUEST_URI", environ["PATH_INFO"]).partition("?")[0]
    action, labels = _route(service, environ["REQUEST_METHOD"], path)
    query = dict(parse_qsl(environ.get("QUERY_STRING", "")))
    return Request(service, region, action, {**query, **json.loads(body or b"{}"), **labels})


@cache
def _routes(service: str) -> list[tuple[str, re.Pattern[str], str]]:
    operations = (model(service).operation_model(name) for name in model(service).operation_names)
    return [
        (
            one.http["method"],
            re.compile(re.sub(r"\{(\w+)\+?\}", r"(?P<\1>[^/]+)", one.http["requestUri"]) + "/?"),
            one.name,
        )
        for one in operations
    ]


def _route(service: str, method: str, path: str) -> tuple[str, dict[str, str]]:
    for its_method, pattern, name in _routes(service):
        match = pattern.fullmatch(path)
        if method == its_method and match:
            return name, {key: unquote(value) for key, value in match.groupdict().items()}
    return "", {}


def _read_form(service: str, action: str, form: dict[str, str]) -> Tree:
    if action not in model(service).operation_names:
        return dict(form)
    shape = model(service).operation_model(action).input_shape
    tree: Tree = {}
    for key, value in form.items():
        node = tree
        *parents, last = key.split(".")
        for parent in parents:
            node = node.setdefault(parent, {})
        node[last] = value
    is_ec2 = model(service).metadata["protocol"] == "ec2"
    return _read_structure(shape, tree, is_ec2=is_ec2) if shape is not None else {}


def _read(shape: Shape, node: Any, *, is_ec2: bool) -> Any:
    if isinstance(shape, StructureShape):
        return _read_structure(shape, node, is_ec2=is_ec2)
    if isinstance(shape, ListShape):
        return _read_list(shape, node, is_ec2=is_ec2)
    match shape.type_name:
        case "integer" | "long":
            return int(node)
        case "double" | "float":
            return float(node)
        case "boolean":
            return node == "true"
        case _:
            return node


def _read_structure(shape: StructureShape, node: Tree, *, is_ec2: bool) -> Tree:
    return {
        name: _read(member, node[key], is_ec2=is_ec2)
        for name, member in shape.members.items()
        for key in (_key_in_form(member, name, is_ec2=is_ec2),)
        if key in node
    }


def _read_list(shape: ListShape, node: Any, *, is_ec2: bool) -> list[Any]:
    if not isinstance(node, dict):  # an empty list is sent as an empty value
        return []
    items = node if is_ec2 or shape.serialization.get("flattened") else node.get("member", {})
    return [_read(shape.member, items[key], is_ec2=is_ec2) for key in sorted(items, key=int)]


def _key_in_form(member: Shape, name: str, *, is_ec2: bool) -> str:
    if not is_ec2:
        return str(member.serialization.get("name", name))
    if "queryName" in member.serialization:
        return str(member.serialization["queryName"])
    location: str = member.serialization.get("name", name)
    return location[:1].upper() + location[1:]


# ---------------------------------------------------------------- answers


def write_answer(request: Request, result: Tree) -> Answer:
    """The result in the protocol of its service."""
    shape = operation(request).output_shape
    protocol = model(request.service).metadata["protocol"]
    if protocol in ("json", "rest-json"):
        content = _plain(shape, result, request.action) if shape is not None else {}
        return Answer(json.dumps(content).encode(), content_type="application/x-amz-json-1.1")
    parts: list[str] = []
    if shape is not None:
        _write_members(shape, result, request.action, parts)
    inner, tag = "".join(parts), f"{request.action}Response"
    namespace = model(request.service).metadata.get("xmlNamespace", "")
    if protocol == "query":
        inner = (
            f"<{request.action}Result>{inner}</{request.action}Result>"
            f"<ResponseMetadata><RequestId>{_REQUEST_ID}</RequestId></ResponseMetadata>"
        )
    else:
        namespace = f"http://ec2.amazonaws.com/doc/{model(request.service).api_version}/"
        inner = f"<requestId>{_REQUEST_ID}</requestId>{inner}"
    return Answer(f'<{tag} xmlns="{namespace}">{inner}</{tag}>'.encode())


def write_error(request: Request, error: AwsError) -> Answer:
    """The error in the protocol of its service."""
    code, message = escape(error.code), escape(error.message)
    match model(request.service).metadata["protocol"]:
        case "ec2":
            body = (
                f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error>"
                f"</Errors><RequestID>{_REQUEST_ID}</RequestID></Response>"
            )
        case "query":
            body = (
                f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}"
                f"</Message></Error><RequestId>{_REQUEST_ID}</RequestId></ErrorResponse>"
            )
        case _:
            body = json.dumps({"__type": error.code, "message": error.message})
            return Answer(body.encode(), error.status, "application/x-amz-json-1.1", error.code)
    return Answer(body.encode(), error.status, error_code=error.code)


def _write(shape: Shape, tag: str, value: Any, path: str, parts: list[str]) -> None:
    parts.append(f"<{tag}>")
    if isinstance(shape, StructureShape):
        _write_members(shape, value, path, parts)
    elif isinstance(shape, ListShape):
        item = shape.member.serialization.get("name") or "member"
        for each in value:
            _write(shape.member, item, each, path, parts)
    else:
        parts.append(_scalar(shape, value))
    parts.append(f"</{tag}>")


def _scalar(shape: Shape, value: Any) -> str:
    match shape.type_name:
        case "boolean":
            return "true" if value else "false"
        case "timestamp":
            return _instant(value)
        case _:
            return escape(str(value))


def _write_members(shape: StructureShape, value: Tree, path: str, parts: list[str]) -> None:
    members = shape.members
    for name, content in value.items():
        if name not in members:
            msg = f"{path}.{name} is not in the service model"
            raise ShapeError(msg)
        if content is not None:
            member = members[name]
            tag = member.serialization.get("name", name)
            _write(member, tag, content, f"{path}.{name}", parts)


def _plain(shape: Shape, value: Any, path: str) -> Any:
    """What is sent as JSON."""
    if isinstance(shape, StructureShape):
        unknown = sorted(set(value) - set(shape.members))
        if unknown:
            msg = f"{path}.{unknown[0]} is not in the service model"
            raise ShapeError(msg)
        return {
            shape.members[name].serialization.get("name", name): _plain(
                shape.members[name], content, f"{path}.{name}"
            )
            for name, content in value.items()
            if content is not None
        }
    if isinstance(shape, ListShape):
        return [_plain(shape.member, each, path) for each in value]
    if shape.type_name == "timestamp" and isinstance(value, datetime):
        return value.timestamp()
    return value


def _instant(value: datetime | str) -> str:
    if isinstance(value, str):
        return value
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def parse_answer(request: Request, body: bytes, status: int, headers: Mapping[str, str]) -> Tree:
    """What botocore makes of an HTTP answer."""
    parser = create_parser(model(request.service).metadata["protocol"])
    lowered = {name.lower(): value for name, value in headers.items()}
    response = {"body": body, "status_code": status, "headers": lowered}
    shape = operation(request).output_shape
    if shape is None and status < 300:  # an error has a shape of its own
        return {}
    parsed: Tree = parser.parse(response, shape)  # type: ignore[arg-type]  # None for errors alone
    parsed.pop("ResponseMetadata", None)
    return parsed
