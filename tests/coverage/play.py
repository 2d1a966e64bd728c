"""Half an hour in which everything happens once that users can see; played once for all tests."""

from __future__ import annotations

import asyncio
import tempfile
from functools import cache
from pathlib import Path

import msgspec

from dovetail import labels
from dovetail.kube.seam import Json
from dovetail.settings.operator import OperatorSettings
from tests.coverage.stage import KWOK, NODE, NODE_CLAIM, NODE_POOL, POD, Seen, Stage, playing

DEPLOYMENT = "web"
# What goes wrong, by the pool that it happens to.
FAULTS: list[Json] = [
    {
        "type": "FailedLaunch",
        "error": "InsufficientCapacityError",
        "nodePool": "scarce",
        "times": 1,
    },
    {"type": "FailedLaunch", "error": "NodeClassNotReadyError", "nodePool": "unready", "times": 1},
    {
        "type": "FailedLaunch",
        "error": "CreateError",
        "nodePool": "broken",
        "reason": "QuotaExceeded",
        "times": 1,
    },
    {"type": "SlowLaunch", "nodePool": "slow", "seconds": 400},
    {"type": "LostInstance", "nodePool": "lost", "afterSeconds": 60, "times": 1},
]


@cache
def played() -> Seen:
    """What was seen in the end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "faults.json"
        path.write_bytes(msgspec.json.encode(FAULTS))
        return asyncio.run(_play({"KWOK_FAULTS_FILE_PATH": str(path)}))


async def _play(environment: dict[str, str]) -> Seen:
    stage = Stage(OperatorSettings(), environment)
    async with playing(stage):
        await _set_up(stage)
        await _grow(stage)
        await _shrink(stage)
    return stage.seen


async def _set_up(stage: Stage) -> None:
    await stage.make(KWOK, "default")
    await stage.make(KWOK, "late", {"nodeRegistrationDelay": "20m"})
    await stage.pass_(1)
    await stage.pool("default", limits={"cpu": "1000", "nodes": "100"})
    for name in ("scarce", "unready", "broken", "slow", "lost"):
        await stage.pool(name)
    await stage.pool("late", template={"nodeClassRef": _ref("late")})
    await stage.pool("missing", template={"nodeClassRef": _ref("nobody")})
    await stage.pool("kept", disruption={"consolidateAfter": "30s", "budgets": [{"nodes": "0"}]})
    await stage.pool("never", disruption={"consolidateAfter": "Never"})
    await stage.pool("expiring", template={"expireAfter": "10m"})
    await stage.pool("graceful", template={"terminationGracePeriod": "2m"})
    await stage.pool("impossible", template={"requirements": [_need(labels.INSTANCE_TYPE, "x9")]})
    await stage.pass_(5)


def _ref(name: str) -> Json:
    return {"group": KWOK.group, "kind": KWOK.name, "name": name}


def _need(key: str, value: str) -> Json:
    return {"key": key, "operator": "In", "values": [value]}


POOLS = [
    "default",
    "scarce",
    "unready",
    "broken",
    "slow",
    "lost",
    "late",
    "kept",
    "never",
    "expiring",
    "graceful",
]


async def _grow(stage: Stage) -> None:
    """A pod for each pool, one for none, and what they need along the way."""
    for pool in POOLS:
        await stage.pod(f"for-{pool}", pool)
    await stage.pod("for-nobody", "there-is-none")
    await stage.pod("with-a-wish", spec={"topologySpreadConstraints": [_WISH]})
    await stage.pass_(10, n_scrapes=10)
    await stage.pass_(110)


_WISH: Json = {
    "maxSkew": 1,
    "topologyKey": labels.ZONE,
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app": "x"}},
}


async def _shrink(stage: Stage) -> None:
    """Pods go, and so do nodes, each in its way."""
    for claim in await stage.claims_of("graceful"):
        await stage.delete(NODE_CLAIM, claim)
    for pool in ("default", "kept", "never"):
        await stage.delete(POD, f"for-{pool}")
    await stage.pass_(120, n_scrapes=8)
    for claim in await stage.claims_of("broken"):
        await stage.delete(NODE, claim)
    await stage.pass_(1800, n_scrapes=4)
    await stage.delete(NODE_POOL, "missing")
    await stage.pass_(10)
