"""The walk of one pending pod, from its watch event to the Node of the kwok provider.

A controller runs in the in-process cluster until it is idle. Then one pod is created, and every
module in which a function runs is noted, in the order of the first call, until its Node exists. The
cluster around the controller (the stand-in API server, kubelets, scheduler, tests) is left out, and
so is `solve`.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from dovetail import api
from dovetail.kube.seam import Json
from dovetail.testing import virtual_time
from tests.house.modules import PACKAGE, ROOT
from tests.kills.world import World, living, running

_SETTLES_AFTER_SECONDS: Final = 60.0
_STEP_SECONDS: Final = 0.25
_MOST_SECONDS: Final = 60.0
_POD, _NODE = api.KINDS["", "Pod"], api.KINDS["", "Node"]
_LOOP: Final = "asyncio/events.py"
AROUND: Final = ("sim/", "testing/", "web/", "apiserver/")
OBSERVER: Final = ROOT / "tests" / "kills" / "history.py"  # it watches the API on its own
LEFT_OUT: Final = "solve/"


class Walk(NamedTuple):
    """The modules in the order in which they first run, as paths below the package."""

    modules: tuple[str, ...]

    @property
    def n_package_changes(self) -> int:
        """How often the next module is in another package than the last."""
        packages = [path.split("/")[0] for path in self.modules]
        return sum(one != other for one, other in pairwise(packages))


def walk() -> Walk:
    """Trace the walk."""
    trace = _Trace()
    virtual_time.run(_launch(trace))
    paths = (Path(path).relative_to(PACKAGE).as_posix() for path in trace.files)
    return Walk(tuple(path for path in paths if not path.startswith(LEFT_OUT)))


async def _launch(trace: _Trace) -> None:
    """Let a controller launch a node for one pod, and trace that."""
    world = World()
    async with living(world), running(world):
        await world.node_class()
        await world.pool()
        await world.pass_(_SETTLES_AFTER_SECONDS)
        sys.setprofile(trace.note)
        try:
            await world.api.create(_POD, _pending_pod(), "default")
            for _ in range(int(_MOST_SECONDS / _STEP_SECONDS)):
                await world.pass_(_STEP_SECONDS)
                if await world.names(_NODE):
                    return
        finally:
            sys.setprofile(None)
    msg = f"no node after {_MOST_SECONDS} s"
    raise RuntimeError(msg)


def _pending_pod() -> dict[str, Json]:
    requests: Json = {"cpu": "900m", "memory": "256Mi"}
    container: Json = {"name": "web", "image": "web", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [container]},
    }


class _Trace:
    """The files of the package in which functions ran, in the order of the first call."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self._around = (str(OBSERVER), *(f"{PACKAGE}/{name}" for name in AROUND))

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call, unless the cluster around the controller makes it. Module bodies are no part
        of the walk.
        """
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if event != "call" or file in self.files or not file.startswith(str(PACKAGE)):
            return
        if name != "<module>" and not self._is_around(frame):
            self.files[file] = None

    def _is_around(self, frame: FrameType | None) -> bool:
        """Whether this function, or one that called it since the event loop, is not ours."""
        while frame is not None and not frame.f_code.co_filename.endswith(_LOOP):
            if frame.f_code.co_filename.startswith(self._around):
                return True
            frame = frame.f_back
        return False
