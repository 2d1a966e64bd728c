"""Tests which settings the AWS provider runs with."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from dovetail.errors import InputError
from dovetail.providers.aws.settings import (
    AwsSettings,
    check_settings,
    parse_feature_gates,
    settings_problems,
)

SOUND = AwsSettings(cluster_name="web")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="a name alone"),
        pytest.param({"cluster_endpoint": "https://abc.eks.amazonaws.com"}, id="an endpoint"),
        pytest.param({"cluster_endpoint": "https://[fd00::1]:6443"}, id="an address"),
        pytest.param({"cluster_ca_bundle": "Y2E="}, id="a CA"),
        pytest.param({"vm_memory_overhead_percent": Decimal(0)}, id="no overhead"),
        pytest.param({"ami_refresh_interval": timedelta(hours=1)}, id="slow refresh"),
    ],
)
def test_sound_settings_are_accepted(changes: dict[str, Any]) -> None:
    """Only the name of the cluster has no default."""
    check_settings(msgspec.structs.replace(SOUND, **changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"cluster_name": ""}, "--cluster-name: is missing", id="no name"),
        pytest.param({"cluster_name": "a/b"}, "--cluster-name: is 'a/b'", id="no such name"),
        pytest.param({"cluster_name": "a" * 101}, "at most 100", id="a long name"),
        pytest.param({"cluster_endpoint": "http://x"}, "--cluster-endpoint", id="no TLS"),
        pytest.param({"cluster_endpoint": "https://"}, "--cluster-endpoint", id="no host"),
        pytest.param({"cluster_endpoint": "x.com"}, "--cluster-endpoint", id="no URL"),
        pytest.param({"cluster_endpoint": "https://[x"}, "--cluster-endpoint", id="no address"),
        pytest.param({"cluster_ca_bundle": "-----BEGIN"}, "--cluster-ca-bundle", id="PEM"),
        pytest.param({"vm_memory_overhead_percent": Decimal("-0.1")}, "from 0", id="negative"),
        pytest.param({"vm_memory_overhead_percent": Decimal(1)}, "below 1", id="everything"),
        pytest.param({"vm_memory_overhead_percent": Decimal("NaN")}, "is NaN", id="no number"),
        pytest.param({"reserved_enis": -1}, "--reserved-enis: is -1", id="negative interfaces"),
        pytest.param(
            {"ami_refresh_interval": timedelta(seconds=59)},
            "--ami-refresh-interval: is 59s",
            id="ami",
        ),
        pytest.param(
            {"subnet_refresh_interval": timedelta(0)}, "--subnet-refresh-interval", id="subnet"
        ),
    ],
)
def test_a_problem_names_the_flag_and_what_was_expected(
    changes: dict[str, Any], message: str
) -> None:
    """One message for each problem."""
    (problem,) = settings_problems(msgspec.structs.replace(SOUND, **changes))
    assert message in problem
    assert "expected" in problem


def test_all_problems_are_reported_at_once() -> None:
    """So that a deployment is mended in one go."""
    with pytest.raises(InputError, match=r"--cluster-name(.|\n)*--reserved-enis"):
        check_settings(AwsSettings(reserved_enis=-1))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", {"NodeClassCEL": False}, id="nothing"),
        pytest.param("NodeClassCEL=true", {"NodeClassCEL": True}, id="on"),
        pytest.param(" NodeClassCEL = false , ", {"NodeClassCEL": False}, id="off, with spaces"),
        pytest.param("Other=true", {"NodeClassCEL": False, "Other": True}, id="an unknown one"),
    ],
)
def test_feature_gates_are_read(text: str, want: dict[str, bool]) -> None:
    """By name, separated by commas."""
    assert parse_feature_gates(text) == want


@pytest.mark.parametrize("text", ["NodeClassCEL", "NodeClassCEL=yes", "=true"])
def test_other_text_is_no_feature_gate(text: str) -> None:
    """The message quotes it."""
    with pytest.raises(ValueError, match="expected Name=true or Name=false, not"):
        parse_feature_gates(text)
