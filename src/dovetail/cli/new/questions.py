"""Lists the questions of `dovetail new nodepool`: what is asked, when, and how answers are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from dovetail.api.decoding import Tree
from dovetail.cli.new.request_flags import labels_of, taint_of
from dovetail.cloud.node_pool_form import NodePoolForm

Answers = Mapping[str, Tree]  # by question path, in the order of the questions


class RequestQuestion(msgspec.Struct, frozen=True):
    """A question about one field of the request, whose path it has.

    `parse` reads an answer; it raises ValueError with what was expected. An empty answer leaves the
    field out, which `needs_answer` forbids. `applies` says whether it is asked at all.
    """

    path: str
    text: str
    parse: Callable[[str], Tree] = str
    needs_answer: Callable[[NodePoolForm], bool] = lambda _form: False
    applies: Callable[[Answers, NodePoolForm], bool] = lambda _answers, _form: True


def _items(text: str) -> Tree:
    return [part.strip() for part in text.split(",") if part.strip()]


def _hours(text: str) -> Tree:
    return [part.strip() for part in text.split(";") if part.strip()]


def _labels(text: str) -> Tree:
    return labels_of([part.strip() for part in text.split(",")])


def _taints(text: str) -> Tree:
    return [taint_of(part.strip()) for part in text.split(",")]


def _count(text: str) -> Tree:
    return int(text) if text.isdecimal() and len(text) <= 18 else text


_RANGE: Final = re.compile(r"(?P<min>[0-9.]*[A-Za-z]*)\s*-\s*(?P<max>[0-9.]*[A-Za-z]*)")


def _range(text: str) -> Tree:
    match = _RANGE.fullmatch(text)
    if match is None:
        msg = f"{text!r} is no range; expected MIN-MAX, MIN- or -MAX"
        raise ValueError(msg)
    return {name: value for name, value in match.groupdict().items() if value}


def _is_new_class(answers: Answers, form: NodePoolForm, name: str) -> bool:
    return "nodeClass.name" not in answers and name in form.allows


def _setting(name: str, text: str) -> RequestQuestion:
    """A question about a new node class."""
    return RequestQuestion(
        f"nodeClass.{name}",
        text,
        needs_answer=lambda form: name in form.needs,
        applies=lambda answers, form: _is_new_class(answers, form, name),
    )


QUESTIONS: Final = (
    RequestQuestion("name", "Name of the NodePool", needs_answer=lambda _form: True),
    RequestQuestion("provider", "Provider that launches the nodes (empty: aws)"),
    RequestQuestion("cpu", "Most vCPU of all nodes together, such as 64 (empty: no limit)"),
    RequestQuestion("memory", "Most memory of all nodes together, such as 256Gi (empty: no limit)"),
    RequestQuestion(
        "gpus",
        "Most GPUs of all nodes together (empty: nodes without GPUs)",
        _count,
        applies=lambda _answers, form: bool(form.gpu_label),
    ),
    RequestQuestion(
        "families", "Instance families, such as m7g,c7g (empty: the usual ones)", _items
    ),
    RequestQuestion(
        "architectures",
        "Architectures, amd64,arm64 (empty: amd64)",
        _items,
        applies=lambda answers, _form: "families" not in answers,
    ),
    RequestQuestion("cpuPerNode", "vCPU of one node, such as 2-32, 4- or -16 (empty: any)", _range),
    RequestQuestion(
        "memoryPerNode",
        "Memory of one node, such as 8Gi-128Gi (empty: any)",
        _range,
        applies=lambda _answers, form: bool(form.memory_label),
    ),
    RequestQuestion("spot", "Spot instances: never, allowed or only (empty: never)"),
    RequestQuestion(
        "zones", "Zones, such as us-west-2a,us-west-2b (empty: those of the cluster)", _items
    ),
    RequestQuestion("labels", "Labels of the nodes, such as team=payments (empty: none)", _labels),
    RequestQuestion(
        "taints",
        "Taints of the nodes, such as dedicated=payments:NoSchedule (empty: none)",
        _taints,
    ),
    RequestQuestion(
        "quietHours",
        "Quiet hours in UTC, without consolidation and replacement after drift, such as "
        "mon-fri 08:00-18:00; 22:00-06:00 (empty: none)",
        _hours,
    ),
    RequestQuestion("nodeClass.name", "Name of a node class that exists (empty: write a new one)"),
    _setting("role", "IAM role of the nodes"),
    _setting("cluster", "Value of the tag karpenter.sh/discovery of subnets and security groups"),
    _setting("image", "Image, such as al2023@v20260101 (empty: al2023@latest)"),
    _setting("disk", "Size of the root volume, such as 100Gi (empty: that of the image)"),
)
