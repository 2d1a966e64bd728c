"""Half an hour in which everything happens once that users can see; played once for all tests."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import timedelta
from functools import cache
from pathlib import Path

import msgspec

from dovetail import api, labels
from dovetail.kube.seam import Json
from dovetail.providers.kwok.plugin import KwokSettings
from dovetail.settings.operator import OperatorSettings
from dovetail.settings.readings import FEATURE_GATES
from tests.coverage.stage import KWOK, NODE, NODE_CLAIM, NODE_POOL, POD, Seen, Stage, playing

DAEMON_SET = api.KINDS["apps", "DaemonSet"]
NODE_OVERLAY = api.KINDS["karpenter.sh", "NodeOverlay"]
HOLD = "example.com/hold"
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
        faults, types = Path(folder) / "faults.json", Path(folder) / "types.json"
        faults.write_bytes(msgspec.json.encode(FAULTS))
        types.write_bytes(msgspec.json.encode([_type(2), _type(8)]))
        return asyncio.run(_play(str(faults), str(types)))


def _type(cpu: int) -> Json:
    """An instance type as the kwok provider's file has it."""
    fixed = ((labels.ZONE, "test-zone-a"), (labels.CAPACITY_TYPE, "spot"))
    return {
        "name": f"t-{cpu}x",
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"},
        "offerings": [
            {
                "Price": 0.01 * cpu,
                "Available": True,
                "Requirements": [_need(key, value) for key, value in fixed],
            }
        ],
    }


async def _play(faults: str, types: str) -> Seen:
    gates = {**FEATURE_GATES, "NodeOverlay": True}
    kwok = KwokSettings(instance_types_file_path=types, kwok_faults_file_path=faults)
    settings = OperatorSettings(
        feature_gates=gates,
        eviction_cost=timedelta(0),  # nobody has stood for long
    )
    stage = Stage(settings, kwok)
    async with playing(stage):
        await _set_up(stage)
        await _grow(stage)
        await _stir(stage)
        await _shrink(stage)
    return stage.seen


async def _set_up(stage: Stage) -> None:
    """Node classes, pools and what runs on every node."""
    await stage.make(KWOK, "default")
    await stage.make(KWOK, "late", {"nodeRegistrationDelay": "20m"})
    await stage.make(DAEMON_SET, "agent", _AGENT)
    await stage.make(NODE_OVERLAY, "dear", {"requirements": [], "price": "9"})
    await stage.make(NODE_OVERLAY, "more", _MORE)
    await stage.pool("default", limits={"cpu": "1000", "nodes": "100"})
    for name in ("scarce", "unready", "broken", "slow", "lost", "drifting", "roomy"):
        await stage.pool(name)
    await stage.pool("late", template={"nodeClassRef": _ref("late")})
    await stage.pool("missing", template={"nodeClassRef": _ref("nobody")})
    await stage.pool("wrong", template={"requirements": [_need(labels.CAPACITY_TYPE, "free")]})
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


_ASKED: Json = {"requests": {"cpu": "100m"}, "limits": {"cpu": "100m"}}
_AGENT: Json = {
    "selector": {"matchLabels": {"app": "agent"}},
    "template": {
        "metadata": {"labels": {"app": "agent"}},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": _ASKED}]},
    },
}
_MORE: Json = {"requirements": [], "weight": 5, "capacity": {"example.com/light": "3"}}
_WISH: Json = {
    "maxSkew": 1,
    "topologyKey": labels.ZONE,
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app": "x"}},
}
POOLS = (
    *("default", "scarce", "unready", "broken", "slow", "lost"),
    *("late", "kept", "never", "expiring", "graceful", "drifting"),
)


async def _grow(stage: Stage) -> None:
    """A pod for each pool, and some for which there is none."""
    for pool in POOLS:
        await stage.pod(f"for-{pool}", pool)
    for number in ("one", "two"):  # each fills a node
        await stage.pod(f"large-{number}", "roomy", cpu="6")
        await stage.pod(f"small-{number}", "roomy", cpu="1")
    await stage.pod("for-nobody", "there-is-none")
    await stage.pod("with-a-device", "there-is-none", spec={"resourceClaims": [{"name": "gpu"}]})
    await stage.pod("with-a-wish", "default", spec={"topologySpreadConstraints": [_WISH]})
    await stage.pass_(0.5)
    await stage.pass_(10, n_scrapes=10)
    await stage.pass_(110)


async def _stir(stage: Stage) -> None:
    """Users change their minds, and a disk fills up."""
    moment = stage.time.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    full: Json = {"type": "DiskPressure", "status": "True", "lastTransitionTime": moment}
    (claim,) = await stage.claims_of("kept")
    await stage.patch(NODE, claim, {"status": {"conditions": [full]}}, "status")
    stricter: Json = {"requirements": [_need(labels.ZONE, "nowhere")]}
    await stage.patch(NODE_POOL, "expiring", {"spec": {"template": {"spec": stricter}}})
    newer: Json = {"labels": {"generation": "2"}}
    await stage.patch(NODE_POOL, "drifting", {"spec": {"template": {"metadata": newer}}})
    for number in ("one", "two"):
        await stage.delete(POD, f"large-{number}")
    await stage.patch(NODE_POOL, "impossible", {"metadata": {"finalizers": [HOLD]}})
    await stage.delete(NODE_POOL, "impossible")
    await stage.pass_(10)
    await stage.patch(NODE_POOL, "impossible", {"metadata": {"finalizers": None}})


async def _shrink(stage: Stage) -> None:
    """Pods go, and so do nodes, each in its way."""
    for claim in await stage.claims_of("graceful"):
        await stage.delete(NODE_CLAIM, claim)
    for pool in ("default", "kept", "never"):
        await stage.delete(POD, f"for-{pool}")
    await stage.delete(POD, "with-a-wish")
    await stage.pass_(3, n_scrapes=3)
    await stage.pass_(120, n_scrapes=8)
    for claim in await stage.claims_of("broken"):
        await stage.delete(NODE, claim)
    await stage.pass_(1800, n_scrapes=4)
