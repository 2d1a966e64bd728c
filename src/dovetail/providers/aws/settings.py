"""Defines the settings of the AWS provider, their defaults, and what they must be.

`parse_feature_gates` reads `--aws-feature-gates`; `check_settings` is asked once, at the start.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Final
from urllib.parse import urlsplit

import msgspec

from dovetail.errors import InputError
from dovetail.units import duration

NODE_CLASS_CEL: Final = "NodeClassCEL"
AWS_FEATURE_GATES: Final[Mapping[str, bool]] = {NODE_CLASS_CEL: False}
_SHORTEST_REFRESH: Final = timedelta(minutes=1)
_LONGEST_NAME: Final = 100
_CLUSTER_NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]*", re.ASCII)


class AwsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the AWS provider. Each field is a flag, `endpoint_url` is a variable alone."""

    cluster_name: str = ""
    cluster_endpoint: str = ""
    cluster_ca_bundle: str = ""  # base64
    region: str = ""
    isolated_vpc: bool = False
    eks_control_plane: bool = False
    vm_memory_overhead_percent: Decimal = Decimal("0.075")
    interruption_queue: str = ""
    replace_on_rebalance_recommendation: bool = False
    reserved_enis: int = 0
    disable_dry_run: bool = False
    enable_zonal_shift: bool = False
    ami_refresh_interval: timedelta = _SHORTEST_REFRESH
    subnet_refresh_interval: timedelta = _SHORTEST_REFRESH
    node_class_cel: bool = False
    endpoint_url: str = ""


def parse_feature_gates(text: str) -> dict[str, bool]:
    """All gates, with what `text` ("NodeClassCEL=true") sets. Raises ValueError.

    Names that are unknown are kept, as for `--feature-gates`: another version may know them.
    """
    gates = dict(AWS_FEATURE_GATES)
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name or value not in {"true", "false"}:
            msg = f"expected Name=true or Name=false, not {part!r}"
            raise ValueError(msg)
        gates[name] = value == "true"
    return gates


def check_settings(settings: AwsSettings) -> None:
    """Check that the provider can run with these settings. Raises InputError with all problems."""
    problems = list(settings_problems(settings))
    if problems:
        raise InputError("\n".join(problems))


def settings_problems(settings: AwsSettings) -> Iterator[str]:
    """What is wrong with settings; each message names the flag and what was expected."""
    yield from _name_problems(settings.cluster_name)
    yield from _endpoint_problems(settings.cluster_endpoint)
    if not _is_base64(settings.cluster_ca_bundle):
        yield "--cluster-ca-bundle: is not base64; expected the CA certificate of the API server"
    overhead = settings.vm_memory_overhead_percent
    if not overhead.is_finite() or not 0 <= overhead < 1:
        yield f"--vm-memory-overhead-percent: is {overhead}; expected a share from 0 to below 1"
    if settings.reserved_enis < 0:
        yield f"--reserved-enis: is {settings.reserved_enis}; expected 0 or more"
    for flag, interval in (
        ("--ami-refresh-interval", settings.ami_refresh_interval),
        ("--subnet-refresh-interval", settings.subnet_refresh_interval),
    ):
        if interval < _SHORTEST_REFRESH:
            yield f"{flag}: is {duration.render(interval)}; expected at least 1m"


def _name_problems(name: str) -> Iterator[str]:
    if not name:
        yield "--cluster-name: is missing; expected the name of the cluster (or CLUSTER_NAME)"
    elif len(name) > _LONGEST_NAME or not _CLUSTER_NAME.fullmatch(name):
        yield (
            f"--cluster-name: is {name!r}; expected at most {_LONGEST_NAME} letters, digits, "
            '"-", "_" and ".", a letter or digit first'
        )


def _endpoint_problems(endpoint: str) -> Iterator[str]:
    if not endpoint:
        return  # EKS is asked
    try:
        parts = urlsplit(endpoint)
        is_sound = parts.scheme == "https" and bool(parts.hostname)
    except ValueError:
        is_sound = False
    if not is_sound:
        yield f"--cluster-endpoint: is {endpoint!r}; expected a URL such as https://example.com"


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return True
