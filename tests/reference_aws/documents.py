"""Reads user data and requests into what they mean, so that two of them can be compared."""

from __future__ import annotations

import email
import re
import shlex
import tomllib
from typing import Any

import yaml

Meaning = dict[str, Any]
_DEFAULTS = (
    ("EnclaveOptions", {"Enabled": False}),
    ("Tenancy", "default"),
    ("NetworkCardIndex", 0),
    ("InterfaceType", "interface"),
)


def meaning(family: str, text: str) -> Meaning:
    """What the user data of this family tells an instance."""
    match family:
        case "AL2023":
            return _archive(text, _node_config)
        case "AL2":
            return _archive(text, _bootstrap_call)
        case "Bottlerocket":
            settings: Meaning = _pruned(tomllib.loads(text))
            return settings
        case "Custom":
            return {"text": text}
        case _:
            return _power_shell(text)


def _archive(text: str, read_last: Any) -> Meaning:
    parts = [part for part in email.message_from_string(text).walk() if not part.is_multipart()]
    contents = [(part.get_content_type(), str(part.get_payload()).strip()) for part in parts]
    *users, (media_type, ours) = contents
    return {"users": users, "type": media_type, "ours": read_last(ours)}


def _node_config(text: str) -> Meaning:
    tree: Meaning = _pruned(yaml.safe_load(text))
    kubelet = tree["spec"]["kubelet"]
    kubelet["flags"] = [_flag(flag) for flag in kubelet["flags"]]
    taints = kubelet["config"].get("registerWithTaints", [])
    kubelet["config"]["registerWithTaints"] = sorted(taints, key=str)
    return tree


def _bootstrap_call(text: str) -> Meaning:
    call = text[text.index("/etc/eks/bootstrap.sh") :].replace("\\\n", " ")
    words = shlex.split(call.splitlines()[0])
    return _arguments(words[1:], "--kubelet-extra-args")


def _arguments(words: list[str], extra: str) -> Meaning:
    """The options of a command, the arguments of kubelet taken apart."""
    told: Meaning = {}
    at = 0
    while at < len(words):
        word = words[at]
        if word.startswith("-") and at + 1 < len(words):
            told[word] = words[at + 1]
            at += 2
        else:
            told[word] = True
            at += 1
    if extra in told:
        told[extra] = sorted(_flag(flag) for flag in shlex.split(str(told[extra])))
    return told


def _power_shell(text: str) -> Meaning:
    line = next(line for line in text.splitlines() if "EKSClusterName" in line)
    options = dict(re.findall(r"-([A-Za-z0-9]+) '((?:[^']|'')*)'", line))
    if "KubeletExtraArgs" in options:
        options["KubeletExtraArgs"] = sorted(map(_flag, shlex.split(options["KubeletExtraArgs"])))
    before = [each for each in text.splitlines() if "EKS" not in each and each.strip()]
    return {"options": options, "around": before}


def _flag(flag: str) -> str:
    """Lists in alphabetical order, without the quotes around them; `1m0s` as `1m`."""
    name, equals, values = flag.partition("=")
    listed = sorted(_duration(each) for each in values.strip('"').split(","))
    return name + equals + ",".join(listed)


def _duration(text: str) -> str:
    """Without seconds that are none."""
    return re.sub(r"(\d+m)0s$", r"\1", text)


def _pruned(tree: Any) -> Any:
    """Without maps and lists that hold nothing."""
    if isinstance(tree, dict):
        kept = {key: _pruned(value) for key, value in tree.items()}
        return {key: value for key, value in kept.items() if value not in ({}, [], None)}
    return _duration(tree) if isinstance(tree, str) else tree


def stated(tree: Any) -> Any:
    """Without what says nothing: null, empty text, empty maps, and what EC2 takes for granted."""
    if isinstance(tree, dict):
        kept = {key: stated(value) for key, value in tree.items()}
        return {
            key: value
            for key, value in kept.items()
            if value not in (None, "", {}, []) and (key, value) not in _DEFAULTS
        }
    if isinstance(tree, list):
        return [stated(value) for value in tree]
    return tree


def sorted_lists(tree: Any) -> Any:
    """With lists in a fixed order: their order means nothing to EC2."""
    if isinstance(tree, dict):
        return {key: sorted_lists(value) for key, value in tree.items()}
    return (
        sorted((sorted_lists(each) for each in tree), key=str) if isinstance(tree, list) else tree
    )
