"""Writes the user data of Amazon Linux 2023: a MIME archive that ends with a NodeConfig.

nodeadm merges the NodeConfigs of an archive, and the last one wins: ours.
"""

from __future__ import annotations

import re
from typing import Final

from dovetail import api
from dovetail.kube import yaml_trees
from dovetail.providers.aws.bootstrap import mime
from dovetail.providers.aws.bootstrap.block_yaml import block_yaml
from dovetail.providers.aws.bootstrap.inputs import BootstrapInputs, UserDataError
from dovetail.providers.aws.bootstrap.kubelet_settings import cluster_dns, labels_flag, max_pods
from dovetail.providers.aws.bootstrap.registration import node_taints

_MEDIA_TYPE: Final = "application/node.eks.aws"
_HEADER: Final = f"Content-Type: {_MEDIA_TYPE}"
_GROUP: Final = "node.eks.aws/"
_LOOKS_LIKE: Final = re.compile(
    r"""^["']?apiVersion["']?\s*:\s*["']?node\.eks\.aws/""", re.MULTILINE
)
_ENCODED: Final = re.compile(
    r"^Content-Transfer-Encoding[ \t]*:[ \t]*(?:base64|quoted-printable)",
    re.IGNORECASE | re.MULTILINE,
)


def al2023(inputs: BootstrapInputs) -> str:
    """The user's parts, then our NodeConfig. Carriage returns are left out."""
    ours = mime.MimePart(_HEADER, block_yaml(node_config(inputs)))
    return mime.archive((*_users_parts(inputs.custom or ""), ours))


def node_config(inputs: BootstrapInputs) -> dict[str, object]:
    """Our NodeConfig. Raises UserDataError if something is missing that nodeadm insists on."""
    cluster = {
        "name": inputs.cluster_name,
        "apiServerEndpoint": inputs.cluster_endpoint,
        "certificateAuthority": inputs.ca_bundle,
        "cidr": inputs.cluster_cidr,
    }
    for key, value in cluster.items():
        if not value:
            msg = "empty; nodeadm requires it, so instances of AL2023 could not join"
            raise UserDataError(msg, field=f"cluster {key}")
    spec: dict[str, object] = {
        "cluster": cluster,
        "kubelet": {"config": _kubelet_config(inputs), "flags": [labels_flag(inputs)]},
    }
    if inputs.instance_store_policy is not None:
        spec["instance"] = {"localStorage": {"strategy": inputs.instance_store_policy}}
    return {"apiVersion": f"{_GROUP}v1alpha1", "kind": "NodeConfig", "spec": spec}


def _kubelet_config(inputs: BootstrapInputs) -> dict[str, object]:
    """The whole map of the node class, with what we always give."""
    config: dict[str, object] = {**inputs.kubelet.raw}
    if addresses := cluster_dns(inputs):
        config["clusterDNS"] = list(addresses)
    if (n_pods := max_pods(inputs)) is not None:
        config["maxPods"] = n_pods
    config["registerWithTaints"] = [
        {"key": taint.key, "effect": str(taint.effect)}
        | ({"value": taint.value} if taint.value else {})
        for taint in node_taints(inputs)
    ]
    return config


def _users_parts(custom: str) -> tuple[mime.MimePart, ...]:
    text = custom.replace("\r", "")
    if not text.strip():
        return ()
    if mime.is_archive(text):
        parts = mime.parts_of(text)
        for part in parts:
            _check(part)
        return parts
    return (mime.MimePart(_HEADER if _is_node_config(text) else mime.SHELL, text),)


def _check(part: mime.MimePart) -> None:
    """Refuse a NodeConfig that is not YAML: the instance would not join."""
    if part.content_type == _MEDIA_TYPE and not _ENCODED.search(part.header):
        _trees(part.body)


def _is_node_config(text: str) -> bool:
    """Whether it is YAML that says so. Scripts may contain one, and begin with `#!`."""
    if text.startswith("#!") or _GROUP not in text:
        return False
    try:
        trees = _trees(text)
    except UserDataError:
        if _LOOKS_LIKE.search(text):
            raise
        return False
    return any(
        isinstance(tree, dict)
        and str(tree.get("apiVersion", "")).startswith(_GROUP)
        and tree.get("kind") == "NodeConfig"
        for tree in trees
    )


def _trees(text: str) -> list[api.Tree]:
    try:
        return [tree for _, tree in yaml_trees.trees(text.encode())]
    except yaml_trees.YamlError as error:
        msg = f"malformed NodeConfig: {error.message}"
        raise UserDataError(msg) from None
