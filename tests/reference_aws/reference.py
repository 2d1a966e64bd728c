"""Asks the reference's own AWS provider, as a library, what it makes of node classes and claims.

The program is built from Go modules once, and kept in the cache directory (`program/main.go`).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tests.controlplane import binaries

HERE = Path(__file__).parent
PROGRAM = HERE / "program"
REGION = "us-west-2"
ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
_SECONDS = 300

Tree = dict[str, Any]


class Stated(msgspec.Struct, frozen=True, rename="pascal"):
    """A requirement as the reference states it."""

    operator: str
    values: list[str] | None


class TypeAnswer(msgspec.Struct, frozen=True, rename="pascal"):
    """An instance type as the reference sees it; amounts are quantities, zeros are left out."""

    requirements: dict[str, Stated]
    capacity: dict[str, str]
    kube_reserved: dict[str, str]
    system_reserved: dict[str, str]
    eviction_threshold: dict[str, str]


class TemplateAnswer(msgspec.Struct, frozen=True, rename="pascal"):
    """A launch template as the reference would create it."""

    name: str
    user_data: str
    input: Tree
    image_id: str = msgspec.field(name="ImageID", default="")
    instance_types: list[str] | None = None


class Answer(msgspec.Struct, frozen=True, rename="pascal"):
    """What the reference makes of one question."""

    hash: str
    hash_version: str
    types: dict[str, TypeAnswer]
    templates: list[TemplateAnswer] | None
    error: str


def ask(questions: Iterable[Mapping[str, Any]]) -> list[Answer]:
    """The reference's answers, in the order of the questions."""
    world = {"Region": REGION, "Machines": list(machines().values())}
    lines = [json.dumps(each) for each in (world, *questions)]
    done = subprocess.run(
        [program()],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [msgspec.json.decode(line, type=Answer) for line in done.stdout.splitlines()]


@cache
def machines() -> dict[str, Tree]:
    """What DescribeInstanceTypes answers for each type that can be a node, by name.

    It is the copy of EC2's answer that moto ships. Both providers ask for these types alone.
    """
    library = binaries.moto().parent.parent / "lib"
    (shapes,) = library.glob("python*/site-packages/moto/ec2/resources/instance_types.json.gz")
    described: dict[str, Tree] = json.loads(gzip.decompress(shapes.read_bytes()))
    return {name: each for name, each in described.items() if _can_be_a_node(each)}


def _can_be_a_node(described: Tree) -> bool:
    architectures = described["ProcessorInfo"]["SupportedArchitectures"]
    virtualized = "hvm" in described["SupportedVirtualizationTypes"]
    return virtualized and not {"x86_64", "arm64"}.isdisjoint(architectures)


@cache
def program() -> Path:
    """The program; built now if it is not there yet."""
    digest = hashlib.sha256()
    for path in sorted(PROGRAM.iterdir()):
        digest.update(path.read_bytes())
    return binaries.build_once(f"reference-aws-{digest.hexdigest()[:12]}", _build) / "reference"


def _build(unfinished: Path) -> None:
    command = [binaries.go(), "build", "-o", f"{unfinished}/reference", "."]
    subprocess.run(command, cwd=PROGRAM, check=True)


@cache
def controller() -> Path:
    """The reference's own controller; built now if it is not there yet."""
    pins = (PROGRAM / "go.mod").read_bytes() + (PROGRAM / "go.sum").read_bytes()
    name = f"reference-aws-controller-{hashlib.sha256(pins).hexdigest()[:12]}"
    return binaries.build_once(name, _build_controller) / "controller"


def _build_controller(unfinished: Path) -> None:
    package = "github.com/aws/karpenter-provider-aws/cmd/controller"
    sys.stderr.write("building the reference's controller (once, about 10 minutes) ...\n")
    command = [binaries.go(), "build", "-o", f"{unfinished}/controller", package]
    subprocess.run(command, cwd=PROGRAM, check=True)
