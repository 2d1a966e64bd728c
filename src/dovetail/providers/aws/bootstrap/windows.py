"""Writes the user data of Windows: a block of PowerShell that ends with EKS's bootstrap script."""

from __future__ import annotations

import re
from typing import Final

from dovetail.providers.aws.bootstrap.inputs import USER_DATA, BootstrapInputs, UserDataError
from dovetail.providers.aws.bootstrap.kubelet_settings import cluster_dns, kubelet_flags

_SCRIPT: Final = '& "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1"'
_TAG: Final = re.compile(r"</?\s*powershell\b[^>]*>", re.IGNORECASE)
_SINGLE_QUOTES: Final = re.compile("(['\u2018\u2019\u201a\u201b])")  # PowerShell takes all for one


def windows(inputs: BootstrapInputs) -> str:
    """The user's commands, then ours. Raises UserDataError for a tag, which would end the block."""
    custom = (inputs.custom or "").strip("\n")
    _refuse_tags(custom, USER_DATA)
    lines = ["<powershell>", *([custom] if custom.strip() else []), _call(inputs), "</powershell>"]
    return "".join(f"{line}\n" for line in lines)


def _refuse_tags(text: str, field: str) -> None:
    tag = _TAG.search(text)
    if tag is not None:
        msg = f"contains the tag {tag[0]}, which ends the block; expected PowerShell without tags"
        raise UserDataError(msg, field=field)


def _call(inputs: BootstrapInputs) -> str:
    arguments = {
        "EKSClusterName": inputs.cluster_name,
        "APIServerEndpoint": inputs.cluster_endpoint,
        "Base64ClusterCA": inputs.ca_bundle,
        "KubeletExtraArgs": " ".join(kubelet_flags(inputs)),
        "DNSClusterIP": next(iter(cluster_dns(inputs)), ""),
    }
    for name, value in arguments.items():
        _refuse_tags(value, name)
    given = (f"-{name} {_quote(value)}" for name, value in arguments.items() if value)
    return " ".join((_SCRIPT, *given))


def _quote(text: str) -> str:
    """Text in which PowerShell expands nothing."""
    return "'" + _SINGLE_QUOTES.sub(r"\1\1", text) + "'"
