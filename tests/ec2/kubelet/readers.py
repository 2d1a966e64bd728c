"""Reads user data as the programs on each machine image do."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable
from email import message_from_bytes
from email.message import Message
from typing import Any

import yaml

from tests.ec2.kubelet.command_lines import (
    powershell_arguments,
    powershell_block,
    shell_commands,
)
from tests.ec2.kubelet.join_request import (
    ClusterFacts,
    JoinRequest,
    NotJoinedError,
    Tree,
    checked,
    flags_of,
    from_flags,
)

_BOOTSTRAP = "/etc/eks/bootstrap.sh"
_NODE_CONFIG = "application/node.eks.aws"
_SCRIPT = re.compile(
    r"(?:Start-EKSBootstrap\.ps1[\"']?|&[ \t]*\$EKSBootstrapScriptFile)[ \t]+(?P<arguments>-.*)",
    re.DOTALL,
)
_AL2023 = "amazon-eks-node-al2023-"
_AL2 = "amazon-eks-"
_BOTTLEROCKET = "bottlerocket-"
_WINDOWS = "Windows_Server-"
_CONFIG_NAMES = (
    "cpuCFSQuota",
    "evictionMaxPodGracePeriod",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
)
_TOML_NAMES = (
    "cpu-cfs-quota-enforced",
    "eviction-max-pod-grace-period",
    "eviction-soft",
    "eviction-soft-grace-period",
    "image-gc-high-threshold-percent",
    "image-gc-low-threshold-percent",
)


def join_request(user_data: bytes, image_name: str, cluster: ClusterFacts) -> JoinRequest:
    """What an image of this name makes of the user data. Raises NotJoinedError with the reason."""
    return checked(_READERS[_program(user_data, image_name)](user_data), cluster)


def _program(user_data: bytes, image_name: str) -> str:
    """Who reads it: known by the names of EKS's images; of others, by what they are given."""
    for start in _READERS:
        if image_name.startswith(start):
            return start
    text = user_data.decode()
    if "<powershell>" in text:
        return _WINDOWS
    if re.search(r"^\[settings", text, re.MULTILINE):
        return _BOTTLEROCKET
    return _AL2023 if "node.eks.aws/" in text else _AL2


# ---- Amazon Linux: cloud-init hands out the parts of a MIME archive


def _parts(user_data: bytes) -> list[tuple[str, str]]:
    """Media type and text of each part, as cloud-init finds them."""
    text = user_data.decode()
    if not re.match(r"(?i)(mime-version|content-type)\s*:", text):
        return [("text/x-shellscript" if text.startswith("#!") else _NODE_CONFIG, text)]
    archive = message_from_bytes(user_data)
    if archive.defects:
        msg = f"cloud-init: malformed MIME archive: {archive.defects[0]!r}"
        raise NotJoinedError(msg)
    return [
        (part.get_content_type(), _payload(part))
        for part in archive.walk()
        if not part.is_multipart()
    ]


def _payload(part: Message) -> str:
    payload = part.get_payload(decode=True)
    return payload.decode() if isinstance(payload, bytes) else ""


def _nodeadm(user_data: bytes) -> JoinRequest:
    configs = [text for media_type, text in _parts(user_data) if media_type == _NODE_CONFIG]
    if not configs:
        msg = "nodeadm: no NodeConfig in the user data"
        raise NotJoinedError(msg)
    merged: Tree = {}
    for text in configs:
        merged = _merged(merged, _node_config(text))
    cluster, kubelet = merged.get("cluster", {}), merged.get("kubelet", {})
    for name in ("name", "apiServerEndpoint", "certificateAuthority", "cidr"):
        if not cluster.get(name):
            msg = f"nodeadm: {name} is missing in the cluster configuration"
            raise NotJoinedError(msg)
    config = kubelet.get("config", {})
    storage = merged.get("instance", {}).get("localStorage", {}).get("strategy")
    if storage not in (None, "RAID0", "RAID10", "Mount"):
        msg = f"nodeadm: unknown strategy {storage!r} of local storage"
        raise NotJoinedError(msg)
    return from_flags(flags_of(_words(kubelet.get("flags", []))), JoinRequest(
        cluster=ClusterFacts(cluster["name"], cluster["apiServerEndpoint"],
            cluster["certificateAuthority"], cluster["cidr"]),
        taints=tuple(config.get("registerWithTaints", ())),
        dns=tuple(config.get("clusterDNS", ())),
        max_pods=_whole(config, "maxPods"),
        pods_per_core=_whole(config, "podsPerCore"),
        system_reserved=_texts(config, "systemReserved"),
        kube_reserved=_texts(config, "kubeReserved"),
        eviction_hard=_texts(config, "evictionHard"),
        others={name: config[name] for name in _CONFIG_NAMES if name in config},
        uses_instance_store=storage is not None,
    ))  # fmt: skip


def _node_config(text: str) -> Tree:
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError as error:
        msg = f"nodeadm: malformed NodeConfig: {error}"
        raise NotJoinedError(msg) from None
    if not isinstance(tree, dict) or tree.get("kind") != "NodeConfig":
        msg = "nodeadm: a part is not a NodeConfig"
        raise NotJoinedError(msg)
    if tree.get("apiVersion") != "node.eks.aws/v1alpha1":
        msg = f"nodeadm: unknown version {tree.get('apiVersion')!r} of NodeConfig"
        raise NotJoinedError(msg)
    spec = tree.get("spec") or {}
    unknown = sorted(spec.keys() - {"cluster", "containerd", "featureGates", "instance", "kubelet"})
    if unknown:
        msg = f"nodeadm: unknown field {unknown[0]!r} in NodeConfig"
        raise NotJoinedError(msg)
    return dict(spec)


def _merged(base: Tree, over: Tree) -> Tree:
    """nodeadm's merge: mappings are merged, flags add up, of everything else the last one wins."""
    merged = dict(base)
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            merged[key] = _merged(base[key], value)
        elif key == "flags":
            merged[key] = [*base.get(key, []), *value]
        else:
            merged[key] = value
    return merged


def _bootstrap_script(user_data: bytes) -> JoinRequest:
    calls = [
        words[1:]
        for media_type, text in _parts(user_data)
        if media_type == "text/x-shellscript"
        for words in _commands(text)
        if words[0] == _BOOTSTRAP
    ]
    if not calls:
        msg = f"cloud-init: no script calls {_BOOTSTRAP}"
        raise NotJoinedError(msg)
    name, *arguments = calls[-1]
    given = dict(zip(arguments[::2], arguments[1::2], strict=False))
    dns = given.get("--dns-cluster-ip", "")
    if ":" in dns and given.get("--ip-family") != "ipv6":
        msg = f"bootstrap.sh: {dns} needs --ip-family ipv6"
        raise NotJoinedError(msg)
    request = JoinRequest(
        cluster=_cluster(
            name, given.get("--apiserver-endpoint", ""), given.get("--b64-cluster-ca", "")
        ),
        dns=(dns,) if dns else (),
        uses_instance_store=given.get("--local-disks") == "raid0",
    )
    return from_flags(flags_of(shlex.split(given.get("--kubelet-extra-args", ""))), request)


def _commands(script: str) -> list[list[str]]:
    """Commands of the script that calls bootstrap.sh. Users' own scripts are not understood."""
    return shell_commands(script) if _BOOTSTRAP in script else []


# ---- Bottlerocket


def _bottlerocket(user_data: bytes) -> JoinRequest:
    try:
        settings = tomllib.loads(user_data.decode())["settings"]
        kubernetes = settings["kubernetes"]
    except (ValueError, KeyError) as error:
        msg = f"Bottlerocket: malformed settings: {error!r}"
        raise NotJoinedError(msg) from None
    taints = tuple(
        _taint_of(key, entry)
        for key, entries in kubernetes.get("node-taints", {}).items()
        for entry in entries
    )
    dns = kubernetes.get("cluster-dns-ip", ())
    return JoinRequest(
        cluster=_cluster(
            kubernetes.get("cluster-name", ""),
            kubernetes.get("api-server", ""),
            kubernetes.get("cluster-certificate", ""),
        ),
        labels=_texts(kubernetes, "node-labels"),
        taints=taints,
        dns=(dns,) if isinstance(dns, str) else tuple(dns),
        max_pods=_whole(kubernetes, "max-pods"),
        system_reserved=_texts(kubernetes, "system-reserved"),
        kube_reserved=_texts(kubernetes, "kube-reserved"),
        eviction_hard=_texts(kubernetes, "eviction-hard"),
        others={name: kubernetes[name] for name in _TOML_NAMES if name in kubernetes},
        uses_instance_store=_mounts_instance_store(settings.get("bootstrap-commands", {})),
    )


def _taint_of(key: str, entry: str) -> Tree:
    value, _, effect = entry.rpartition(":")
    return {"key": key, "effect": effect} | ({"value": value} if value else {})


def _mounts_instance_store(commands: Tree) -> bool:
    verbs = [
        words[2]
        for name in sorted(commands)
        for words in commands[name]["commands"]
        if words[:2] == ["apiclient", "ephemeral-storage"] and commands[name]["mode"] == "always"
    ]
    return verbs == ["init", "bind"]


# ---- Windows


def _windows(user_data: bytes) -> JoinRequest:
    block = powershell_block(user_data.decode())
    call = _SCRIPT.search(block)
    if call is None:
        msg = "EC2Launch: the block does not call Start-EKSBootstrap.ps1"
        raise NotJoinedError(msg)
    given = powershell_arguments(call["arguments"])
    dns = given.get("DNSClusterIP", "")
    request = JoinRequest(
        cluster=_cluster(
            given.get("EKSClusterName", ""),
            given.get("APIServerEndpoint", ""),
            given.get("Base64ClusterCA", ""),
        ),
        dns=(dns,) if dns else (),
    )
    return from_flags(flags_of(shlex.split(given.get("KubeletExtraArgs", ""))), request)


# ---- parts of all


def _cluster(name: str, endpoint: str, ca_bundle: str) -> ClusterFacts:
    return ClusterFacts(name, endpoint, ca_bundle)


def _words(flags: list[str]) -> list[str]:
    """Flags as systemd hands them to kubelet: quotes are taken off, blanks separate."""
    return [word for flag in flags for word in shlex.split(flag)]


def _whole(tree: Tree, name: str) -> int | None:
    value = tree.get(name)
    if value is not None and type(value) is not int:
        msg = f"kubelet: {name} has {value!r}, which is not a number"
        raise NotJoinedError(msg)
    return value


def _texts(tree: Tree, name: str) -> dict[str, str]:
    entries: Any = tree.get(name, {})
    if not isinstance(entries, dict) or not all(isinstance(one, str) for one in entries.values()):
        msg = f"kubelet: {name} has {entries!r}, which is not a map of texts"
        raise NotJoinedError(msg)
    return dict(entries)


_READERS: dict[str, Callable[[bytes], JoinRequest]] = {
    _AL2023: _nodeadm,
    _AL2: _bootstrap_script,
    _BOTTLEROCKET: _bottlerocket,
    _WINDOWS: _windows,
}
