"""The WSGI application: records every call, orders faults, and answers or lets moto answer."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.test import run_wsgi_app

from tests.ec2.extension import (
    fleet,
    images,
    launch,
    moto_state,
    offers,
    paging,
    placement_groups,
    reservations,
    running,
    tagging,
    templates,
    wire,
    zonal_shifts,
)
from tests.ec2.extension.control import Control
from tests.ec2.extension.faults import CallFault
from tests.ec2.extension.named_resources import tags_of_named
from tests.ec2.extension.record import Record
from tests.ec2.extension.wire import Answer, AwsError, Request, Tree
from tests.ec2.extension.world import World

CONTROL = "/ec2-for-tests/"
TIME = "HTTP_X_EC2_FOR_TESTS_TIME"  # a header: the time of whoever calls, which becomes EC2's
Environ = dict[str, Any]
Handler = Callable[[World, Tree], Tree]

_HANDLERS: dict[tuple[str, str], Handler] = {
    ("ec2", "CreateFleet"): fleet.create_fleet,
    ("ec2", "CreateLaunchTemplate"): templates.create,
    ("ec2", "CreateLaunchTemplateVersion"): templates.create_version,
    ("ec2", "CreatePlacementGroup"): placement_groups.create,
    ("ec2", "DeleteLaunchTemplate"): templates.delete,
    ("ec2", "DeletePlacementGroup"): placement_groups.delete,
    ("ec2", "DescribeCapacityReservations"): reservations.describe,
    ("ec2", "DescribeImages"): images.describe,
    ("ec2", "DescribeInstanceAttribute"): running.describe_attribute,
    ("ec2", "DescribeInstanceStatus"): running.describe_status,
    ("ec2", "DescribeInstanceTypeOfferings"): offers.describe_offerings,
    ("ec2", "DescribeInstanceTypes"): offers.describe_types,
    ("ec2", "DescribeInstances"): running.describe_instances,
    ("ec2", "DescribeLaunchTemplateVersions"): templates.describe_versions,
    ("ec2", "DescribeLaunchTemplates"): templates.describe,
    ("ec2", "DescribePlacementGroups"): placement_groups.describe,
    ("ec2", "DescribeSpotPriceHistory"): offers.describe_spot_prices,
    ("ec2", "DescribeVolumes"): running.describe_volumes,
    ("ec2", "RunInstances"): fleet.run_instances,
    ("ec2", "TerminateInstances"): running.terminate_instances,
    ("pricing", "GetProducts"): offers.products,
    ("arc-zonal-shift", "GetManagedResource"): zonal_shifts.describe,
}
# These see to DryRun themselves, since they check the request first.
_CHECKS_FIRST = frozenset({"CreateFleet", "RunInstances"})


class Application:
    """EC2 and its neighbours, as tests see them."""

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._record = Record()
        self._world = World()
        self._control = Control(self._fresh_world, self._record)

    def _fresh_world(self) -> World:
        self._world = World()
        self._world.images, self._world.image_parameters = images.eks_images()
        return self._world

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        """Answer one HTTP request."""
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        path: str = environ["PATH_INFO"]
        if TIME in environ:
            self._world.clock.set(datetime.fromisoformat(environ[TIME]))
        if path.startswith(CONTROL):
            answer = self._control.answer(path.removeprefix(CONTROL), body)
        else:
            request = wire.read_request(environ, body)
            if request is None or not request.action:
                return self._pass_on(environ, body, start_response)
            answer = self._answer(request, environ, body)
        headers = [
            ("Content-Type", answer.content_type),
            ("Content-Length", str(len(answer.body))),
            *answer.headers,
        ]
        start_response(f"{answer.status} -", headers)
        return [answer.body]

    def _pass_on(self, environ: Environ, body: bytes, start_response: Any) -> Iterable[bytes]:
        answered: Iterable[bytes] = self._moto(_with_body(environ, body), start_response)
        return answered

    def _answer(self, request: Request, environ: Environ, body: bytes) -> Answer:
        world = self._world
        with world.lock:
            agent = environ.get("HTTP_USER_AGENT", "")
            tags = tags_of_named(world, request)
            call = self._record.begin(request, world.clock.now(), agent, tags)
            faults = [fault for fault in world.call_faults if fault.strikes(request)]
        try:
            answer = self._carry_out(request, faults, environ, body)
        except ConnectionError:
            self._record.end(call, "connection closed")
            raise
        self._record.end(call, answer.error_code)
        return answer

    def _carry_out(
        self, request: Request, faults: list[CallFault], environ: Environ, body: bytes
    ) -> Answer:
        for fault in faults:
            time.sleep(fault.seconds)
        kinds = {fault.kind: fault for fault in faults}
        if "cut" in kinds:
            raise ConnectionAbortedError
        if "error" in kinds:
            fault = kinds["error"]
            return wire.write_error(request, AwsError(fault.code, fault.message, fault.status))
        answer = self._result(request, environ, body)
        if "lose" in kinds:
            raise ConnectionAbortedError
        if "garble" in kinds:
            return Answer(b"<html>no answer</html>", kinds["garble"].status, "text/html")
        return answer

    def _result(self, request: Request, environ: Environ, body: bytes) -> Answer:
        if request.service == "sqs":  # whoever waits for messages must not hold up everybody
            try:
                return self._ask_moto(request, environ, body)
            except AwsError as error:
                return wire.write_error(request, error)
        try:
            with self._world.lock:
                self._world.settle()
                return self._own_answer(request, environ, body)
        except AwsError as error:
            return wire.write_error(request, error)

    def _own_answer(self, request: Request, environ: Environ, body: bytes) -> Answer:
        world, parameters = self._world, request.parameters
        if parameters.get("DryRun") is True and request.action not in _CHECKS_FIRST:
            raise AwsError("DryRunOperation", "Request would have succeeded.", 412)
        handler = _HANDLERS.get((request.service, request.action))
        if handler is not None:
            return wire.write_answer(request, handler(world, parameters))
        if (request.service, request.action) == ("ssm", "GetParameter"):
            parameter = images.parameter(world, parameters["Name"])
            if parameter:
                return wire.write_answer(request, {"Parameter": parameter})
        return self._with_moto(request, environ, body)

    # ------------------------------------------------------------ moto

    def _with_moto(self, request: Request, environ: Environ, body: bytes) -> Answer:
        match request.service, request.action:
            case "ec2", "CreateTags" | "DeleteTags":
                return self._tag(request, environ, body)
            case "ec2", "DescribeSubnets":
                return self._paged(request, environ, body, _with_free_addresses)
            case "iam", "ListInstanceProfiles":
                prefix = request.parameters.get("PathPrefix", "/")
                return self._paged(request, environ, body, partial(_under_path, prefix))
            case "eks", "DescribeCluster":
                return self._changed(request, environ, body, _with_network)
            case _ if _is_paged(request):
                return self._paged(request, environ, body, None)
            case _:
                return self._ask_moto(request, environ, body)

    def _ask_moto(self, request: Request, environ: Environ, body: bytes) -> Answer:
        content, status, headers = run_wsgi_app(
            self._moto, _with_body(environ, body), buffered=True
        )
        text = b"".join(content)
        if int(status.split()[0]) >= 500:
            msg = f"moto does not do {request.service} {request.action}: {text[:300]!r}"
            raise AwsError("UnsupportedOperation", msg)
        code, kind = int(status.split()[0]), headers.get("Content-Type", "text/xml")
        kept = tuple(pair for pair in headers.items() if pair[0].lower().startswith("x-amzn"))
        error = wire.parse_answer(request, text, code, dict(kept))["Error"] if code >= 300 else {}
        return Answer(text, code, kind, error.get("Code", ""), kept)

    def _changed(
        self,
        request: Request,
        environ: Environ,
        body: bytes,
        change: Callable[[World, Tree], None] | None,
    ) -> Answer:
        answer = self._ask_moto(request, environ, body)
        if answer.error_code:
            return answer
        result = wire.parse_answer(request, answer.body, answer.status, {})
        if change is not None:
            change(self._world, result)
        return wire.write_answer(request, result)

    def _paged(
        self,
        request: Request,
        environ: Environ,
        body: bytes,
        change: Callable[[World, Tree], None] | None,
    ) -> Answer:
        """moto's whole list, cut into pages here: moto pages few lists, and some wrongly."""
        rule = wire.paginators(request.service)[request.action]
        whole = [
            pair
            for pair in parse_qsl(body.decode(), keep_blank_values=True)
            if pair[0] not in (rule["input_token"], rule.get("limit_key"))
        ]
        answer = self._ask_moto(request, environ, urlencode(whole).encode())
        if answer.error_code:
            return answer
        result = wire.parse_answer(request, answer.body, answer.status, {})
        if change is not None:
            change(self._world, result)
        asked = {
            "NextToken": request.parameters.get(rule["input_token"]),
            "MaxResults": request.parameters.get(rule.get("limit_key", "")),
        }
        least = 5 if request.service == "ec2" else 1
        items, token = paging.page(result.get(rule["result_key"], []), asked, least=least)
        result |= {rule["result_key"]: items, rule["output_token"]: token}
        if "more_results" in rule:
            result[rule["more_results"]] = token is not None
        return wire.write_answer(request, result)

    def _tag(self, request: Request, environ: Environ, body: bytes) -> Answer:
        ours, others = tagging.split(request.parameters)
        change = tagging.create if request.action == "CreateTags" else tagging.delete
        change(self._world, ours, request.parameters.get("Tags", []))
        if not others:
            return wire.write_answer(request, {})
        fields = parse_qsl(body.decode(), keep_blank_values=True)
        kept = [pair for pair in fields if not pair[0].startswith("ResourceId")]
        kept += [(f"ResourceId.{n}", one) for n, one in enumerate(others, 1)]
        return self._ask_moto(request, environ, urlencode(kept).encode())


def _is_paged(request: Request) -> bool:
    if request.service not in ("ec2", "iam"):
        return False
    rule = wire.paginators(request.service).get(request.action)
    return (
        rule is not None and isinstance(rule["result_key"], str) and "." not in rule["result_key"]
    )


def _with_body(environ: Environ, body: bytes) -> Environ:
    return {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}


def _under_path(prefix: str, _world: World, answer: Tree) -> None:
    """Leave out what has another path; moto lists all of them."""
    profiles = answer["InstanceProfiles"]
    answer["InstanceProfiles"] = [one for one in profiles if one["Path"].startswith(prefix)]


def _with_free_addresses(world: World, result: Tree) -> None:
    for subnet in result["Subnets"]:
        known = moto_state.subnet_by_id(subnet["SubnetId"])
        if known is not None:
            subnet["AvailableIpAddressCount"] = launch.free_addresses(world, known)


def _with_network(world: World, result: Tree) -> None:
    """What EKS knows of a cluster's network, and moto leaves out."""
    cluster = result["cluster"]
    network = cluster.setdefault("resourcesVpcConfig", {})
    subnets = [moto_state.subnet_by_id(one) for one in network.get("subnetIds", [])]
    network.setdefault("vpcId", next((one.vpc_id for one in subnets if one), ""))
    groups = [
        one
        for one, (name, vpc) in moto_state.security_groups().items()
        if vpc == network["vpcId"] and name == "default"
    ]
    network.setdefault("clusterSecurityGroupId", groups[0] if groups else "")
    network.setdefault("endpointPublicAccess", True)
    network.setdefault("endpointPrivateAccess", False)
    addresses = cluster.setdefault("kubernetesNetworkConfig", {})
    addresses.setdefault("ipFamily", "ipv4")
    if addresses["ipFamily"] == "ipv4":
        addresses.setdefault("serviceIpv4Cidr", "10.100.0.0/16")
    cluster |= json.loads(json.dumps(world.clusters.get(cluster["name"], {})))
