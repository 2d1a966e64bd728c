"""Writes the user data of Amazon Linux 2: a MIME archive that ends with a call of bootstrap.sh."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from dovetail.providers.aws.bootstrap import mime
from dovetail.providers.aws.bootstrap.inputs import BootstrapInputs
from dovetail.providers.aws.bootstrap.kubelet_settings import (
    cluster_dns,
    kubelet_flags,
    max_pods,
    uses_ipv6,
)


def al2(inputs: BootstrapInputs) -> str:
    """The user's parts, then ours. Carriage returns, which break scripts, are left out."""
    parts = (*_users_parts(inputs.custom or ""), mime.MimePart(mime.SHELL, _script(inputs)))
    return mime.archive(parts)


def _users_parts(custom: str) -> tuple[mime.MimePart, ...]:
    text = custom.replace("\r", "")
    if not text.strip():
        return ()
    return mime.parts_of(text) if mime.is_archive(text) else (mime.MimePart(mime.SHELL, text),)


def _script(inputs: BootstrapInputs) -> str:
    arguments = " \\\n  ".join((shlex.quote(inputs.cluster_name), *_arguments(inputs)))
    return f"#!/bin/bash -xe\n/etc/eks/bootstrap.sh {arguments}\n"


def _arguments(inputs: BootstrapInputs) -> Iterator[str]:
    if inputs.cluster_endpoint:
        yield f"--apiserver-endpoint {shlex.quote(inputs.cluster_endpoint)}"
    if inputs.ca_bundle:
        yield f"--b64-cluster-ca {shlex.quote(inputs.ca_bundle)}"
    if uses_ipv6(inputs):
        yield "--ip-family ipv6"
    if cluster_dns(inputs):
        yield f"--dns-cluster-ip {shlex.quote(cluster_dns(inputs)[0])}"
    if max_pods(inputs) is not None:
        yield "--use-max-pods false"
    if inputs.instance_store_policy == "RAID0":
        yield "--local-disks raid0"
    yield f"--kubelet-extra-args {shlex.quote(' '.join(kubelet_flags(inputs)))}"
