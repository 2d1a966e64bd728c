"""What the Deployment tells the program is what the program listens to."""

from __future__ import annotations

from typing import Any

from dovetail.present.installation.choices import Choices
from dovetail.present.installation.workload import objects
from dovetail.settings import sources
from dovetail.settings.flags import FLAGS
from dovetail.settings.operator import OperatorSettings
from tests.installing import KWOK


def container() -> Any:
    """The controller's container."""
    *_, deployment = objects(Choices(version="1", image="dovetail:1", **KWOK))
    tree: Any = deployment
    return tree["spec"]["template"]["spec"]["containers"][0]


# The pod's limits, files that must be there, and what is best left alone.
ELSEWHERE = {
    "CPU_REQUESTS",
    "KUBE_CLIENT_BURST",
    "KUBE_CLIENT_QPS",
    "MEMORY_LIMIT",
    "SCHEDULER_CONFIG",
}


def test_every_variable_is_one_that_the_program_reads() -> None:
    """And every one of the reference's has its place; our own are for `controller.env`."""
    said = {one["name"] for one in container()["env"]}
    read = {flag.environment for flag in FLAGS if flag.environment}
    assert said - read == set()
    assert {name for name in read - said if not name.startswith("DOVETAIL_")} == ELSEWHERE


def test_what_is_written_out_is_the_programs_default() -> None:
    """So that whoever removes a variable changes nothing."""
    variables = {one["name"]: one["value"] for one in container()["env"] if "value" in one}
    flags = dict(word.removeprefix("--").split("=") for word in container()["args"])
    settings = sources.read(flags, variables)
    assert settings == OperatorSettings(karpenter_service="dovetail")
