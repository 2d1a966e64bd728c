"""User data of Amazon Linux 2. Its whole text is in the golden files."""

from __future__ import annotations

import subprocess

import pytest

from dovetail.providers.aws.bootstrap.amazon_linux import al2
from dovetail.providers.aws.bootstrap.mime import parts_of
from tests.unit.providers.aws.bootstrap.cases import SHELL, inputs

NASTY = "a'b\"c$(echo d)`echo e`\\ f;g&h|i>j\n#k"


def test_bash_calls_bootstrap_with_exactly_the_words_that_were_given() -> None:
    """Nothing in a name is run, expanded or split."""
    given = inputs(
        cluster_name=NASTY, cluster_endpoint=NASTY, ca_bundle=NASTY, instance_store_policy="RAID0"
    )
    (part,) = parts_of(al2(given))
    call = part.body.removeprefix("#!/bin/bash -xe\n")
    script = call.replace("/etc/eks/bootstrap.sh", "printf '%s\\0'", 1)
    run = subprocess.run(
        ["/bin/bash", "-e"], input=script, capture_output=True, text=True, check=True
    )
    words = run.stdout.split("\0")
    assert words[:6] == [NASTY, "--apiserver-endpoint", NASTY, "--b64-cluster-ca", NASTY,
        "--dns-cluster-ip"]  # fmt: skip
    assert words[7:11] == ["--use-max-pods", "false", "--local-disks", "raid0"]
    assert words[11] == "--kubelet-extra-args"
    assert words[13:] == [""]


def test_what_is_not_known_is_left_to_bootstrap() -> None:
    """It asks EKS for the endpoint and the authority, and computes the number of pods."""
    text = al2(inputs(cluster_endpoint="", ca_bundle="", dns_ips=(), max_pods=None))
    for flag in ("--apiserver-endpoint", "--b64-cluster-ca", "--dns-cluster-ip", "--use-max-pods"):
        assert flag not in text


@pytest.mark.parametrize("custom", [None, "", " \r\n"], ids=["none", "empty", "blank"])
def test_user_data_that_says_nothing_is_no_part(custom: str | None) -> None:
    """The archive has ours only."""
    assert len(parts_of(al2(inputs(custom=custom)))) == 1


def test_carriage_returns_are_left_out() -> None:
    """A script with them does not run."""
    text = al2(inputs(custom=SHELL.replace("\n", "\r\n")))
    assert "\r" not in text
    assert parts_of(text)[0].body == SHELL
