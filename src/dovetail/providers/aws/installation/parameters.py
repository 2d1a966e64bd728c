"""Reads the values of templates: names of the cluster, its account, and what is created for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from dovetail.cloud.prerequisites import CloudParameter, TemplateRequest
from dovetail.errors import InputError
from dovetail.providers.aws.settings import AwsSettings, settings_problems

JSON: Final = "json"
CLOUDFORMATION: Final = "cloudformation"
TERRAFORM: Final = "terraform"
FORMATS: Final = (CLOUDFORMATION, TERRAFORM, JSON)
PARAMETERS: Final = (
    CloudParameter("cluster-name", "the EKS cluster"),
    CloudParameter("region", "its region; json only"),
    CloudParameter("account-id", "the AWS account; json only"),
    CloudParameter("interruption-queue", "the SQS queue; default: the name of the cluster"),
    CloudParameter("node-role", "the role of nodes; default: KarpenterNodeRole-CLUSTER"),
    CloudParameter("more-node-roles", "further roles of nodes, with commas"),
    CloudParameter("controller-role", "the role of the controller; default: dovetail-CLUSTER"),
    CloudParameter("oidc-provider", "the cluster's OIDC issuer, for IRSA; default: pod identity"),
    CloudParameter("image-parameters", "SSM parameters with images of your own, with commas"),
)
_SHAPES: Final = {
    "region": (re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]+"), "a region such as us-west-2"),
    "account-id": (re.compile(r"[0-9]{12}"), "an account of 12 digits"),
    "interruption-queue": (
        re.compile(r"[A-Za-z0-9_-]{1,80}"),
        "at most 80 letters, digits, - and _",
    ),
    "node-role": (re.compile(r"[\w+=,.@-]{1,64}", re.ASCII), "a role of at most 64 characters"),
    "more-node-roles": (
        re.compile(r"[\w+=.@-]{1,64}(,[\w+=.@-]{1,64})*", re.ASCII),
        "roles of at most 64 characters, with commas between them",
    ),
    "controller-role": (
        re.compile(r"[\w+=,.@-]{1,64}", re.ASCII),
        "a role of at most 64 characters",
    ),
    "oidc-provider": (
        re.compile(r"[a-z0-9][a-z0-9./:-]*/id/[A-Za-z0-9]+"),
        "an issuer such as oidc.eks.us-west-2.amazonaws.com/id/EXAMPLE",
    ),
    "image-parameters": (
        re.compile(r"(/[\w.*-]+)+(,(/[\w.*-]+)+)*", re.ASCII),
        "paths such as /team/images/*",
    ),
}
_PARTITIONS: Final = (
    ("cn-", "aws-cn"),
    ("us-gov-", "aws-us-gov"),
    ("us-isob-", "aws-iso-b"),
    ("us-iso-", "aws-iso"),
    ("eusc-", "aws-eusc"),
)


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """The names of one installation. They are empty where the format finds them by itself."""

    cluster: str = ""
    region: str = ""
    account: str = ""
    queue: str = ""
    node_role: str = ""
    controller_role: str = ""
    oidc_provider: str = ""
    image_parameters: tuple[str, ...] = ()
    more_node_roles: tuple[str, ...] = ()
    namespace: str
    service_account: str

    @property
    def partition(self) -> str:
        """The partition of AWS that has the region."""
        return next((name for start, name in _PARTITIONS if self.region.startswith(start)), "aws")

    @property
    def dns_suffix(self) -> str:
        """The end of the names of services there."""
        return "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"


def read_installation(request: TemplateRequest) -> Installation:
    """The names in a request. Raises InputError with everything that is wrong."""
    values = {name: value for name, value in request.values.items() if value}
    cluster = values.get("cluster-name", "")
    named = {**_default_names(cluster), **values} if request.format != TERRAFORM else values
    issuer = named.get("oidc-provider", "").removeprefix("https://")
    if issuer:
        named["oidc-provider"] = issuer
    problems = list(_problems(named, request.format))
    if problems:
        raise InputError("\n".join(problems))
    return Installation(
        cluster=cluster,
        region=named.get("region", ""),
        account=named.get("account-id", ""),
        queue=named.get("interruption-queue", ""),
        node_role=named.get("node-role", ""),
        controller_role=named.get("controller-role", ""),
        oidc_provider=issuer,
        image_parameters=_parts(named.get("image-parameters", "")),
        more_node_roles=_parts(named.get("more-node-roles", "")),
        namespace=request.namespace,
        service_account=request.service_account,
    )


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def _default_names(cluster: str) -> dict[str, str]:
    return {
        "interruption-queue": cluster.replace(".", "-"),
        "node-role": f"KarpenterNodeRole-{cluster}",
        "controller-role": f"dovetail-{cluster}",
    }


def _problems(values: Mapping[str, str], template_format: str) -> Iterator[str]:
    cluster = values.get("cluster-name", "")
    if not cluster and template_format != TERRAFORM:
        yield "--set cluster-name: is missing; expected the name of the EKS cluster"
        return  # the other names are made of it
    problems = list(settings_problems(AwsSettings(cluster_name=cluster))) if cluster else []
    if problems:
        yield from (f"--set {problem.removeprefix('--')}" for problem in problems)
        return
    for name, (shape, expected) in _SHAPES.items():
        value = values.get(name, "")
        if value and not shape.fullmatch(value):
            yield f"--set {name}: is {value!r}; expected {expected}"
        elif not value and template_format == JSON and name in {"region", "account-id"}:
            yield f"--set {name}: is missing; expected {expected}: --cloud json writes names out"
