"""Which clusters are to be seen changing? Many small ones at once, each a pool with its pods.

All are applied together and begin to change together, since most have to wait for the same minute:
nobody is moved to save money who has just started.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any

from dovetail.labels import DELETION_COST
from tests.e2e.live import Objects, objects, one, until
from tests.e2e.manifests import (
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    LINUX,
    STAGE,
    Tree,
    budget,
    company,
    container,
    deployment,
    listed,
    requirement,
)
from tests.e2e.stage import Script, Stage

HOME = "disruption"
PROTECTED = {"karpenter.sh/do-not-disrupt": "true"}
OWN_COST = {
    DELETION_COST: "0"
}  # stated by the owner, so that the controller does not choose who goes
STARTING = {"key": "dovetail.test/starting", "effect": "NoSchedule"}
ON_DEMAND = requirement(CAPACITY_TYPE, "In", "on-demand")
N_APART = 3
N_BEFORE, N_AFTER, N_AVAILABLE = 20, 10, 9  # pods of the app that shrinks

VACANT, DRIFTED, RENEWED, STALLED, REFUSED, GUARDED, CLOSED, FIXED, BROKEN = (
    Script(name, HOME)
    for name in (
        *("vacant", "drifted", "renewed", "stalled", "refused"),
        *("guarded", "closed", "fixed", "broken"),
    )
)
SHRUNK, SPLIT, MERGED = (Script(name, HOME) for name in ("shrunk", "split", "merged"))

# The cloud has nothing for the pool that pods of `refused` would rather have.
PREFERRED = "refused-preferred"
FAULTS = [
    {"type": "FailedLaunch", "error": "InsufficientCapacityError", "nodePool": PREFERRED},
]
GATES = "StaticCapacity=true,NodeRepair=true"


def at_most(cpu: int) -> Tree:
    """Machines of so many cores or fewer."""
    return requirement("karpenter.kwok.sh/instance-cpu", "Lt", str(cpu + 1))


def cpu(amount: str) -> list[Tree]:
    """A container that asks for so much."""
    return [container(cpu=amount)]


def disruption(nodes: str = "100%", policy: str = "WhenEmptyOrUnderutilized") -> Tree:
    """Quiet at once, and so many nodes at a time."""
    return {
        "consolidationPolicy": policy,
        "consolidateAfter": "0s",
        "budgets": [{"nodes": nodes}],
    }


def everything() -> list[Tree]:
    """All that is applied, in the state in which it could stay."""
    return [*_to_be_cheaper(), *_to_be_replaced(), *_to_be_counted()]


def _to_be_cheaper() -> list[Tree]:
    return [
        SHRUNK.pool(requirements=[ON_DEMAND, at_most(4)], disruption=disruption("0")),
        deployment("shrunk", N_BEFORE, SHRUNK.spec(containers=cpu("700m")), annotations=OWN_COST),
        budget("shrunk", minAvailable=N_AVAILABLE),
        SPLIT.pool(requirements=[ON_DEMAND, at_most(16)], disruption=disruption()),
        deployment("split-large", 1, SPLIT.spec(containers=cpu("13500m"))),
        deployment("split", 3, SPLIT.spec(containers=cpu("700m"))),
        MERGED.pool(requirements=[ON_DEMAND, at_most(1)], disruption=disruption()),
        deployment("merged", 3, MERGED.spec(containers=cpu("600m"))),
        GUARDED.pool(requirements=[ON_DEMAND, at_most(16)], disruption=disruption()),
        deployment("guarded-large", 1, GUARDED.spec(containers=cpu("13500m"))),
        deployment("guarded", 1, GUARDED.spec(containers=cpu("700m")), annotations=PROTECTED),
    ]


def _to_be_replaced() -> list[Tree]:
    return [
        DRIFTED.pool(disruption=disruption("1", "WhenEmpty")),
        deployment("drifted", N_APART, apart(DRIFTED)),
        budget("drifted", minAvailable=N_APART - 1),
        *(RENEWED.pool(), deployment("renewed", 2, RENEWED.spec())),
        *(STALLED.pool(), deployment("stalled", 2, STALLED.spec())),
        *(REFUSED.pool(), deployment("refused", 2, REFUSED.spec())),
        *(BROKEN.pool(), deployment("broken", 1, BROKEN.spec())),
    ]


def _to_be_counted() -> list[Tree]:
    return [
        VACANT.pool(disruption=disruption("1", "WhenEmpty")),
        deployment("vacant", N_APART, apart(VACANT)),
        CLOSED.pool(requirements=[ON_DEMAND, at_most(1)], disruption=disruption("0")),
        deployment("closed", 2, CLOSED.spec(containers=cpu("600m"))),
        deployment("closed-idle", 1, CLOSED.spec(containers=cpu("600m"))),
        FIXED.pool(replicas=2),
    ]


def apart(script: Script) -> Tree:
    """The spec of pods each of which has a node to itself."""
    return script.spec(affinity=company("podAntiAffinity", script.name))


N_PODS = N_BEFORE + 4 + 3 + 2 + N_APART + 2 + 2 + 2 + 1 + N_APART + 2 + 1
ANEW = {"metadata": {"annotations": {"dovetail.test/revision": "2"}}}


def turn(stage: Stage) -> None:
    """Change everything, so that none of it should stay as it is."""
    _shrink(stage)
    away = ("split-large", "guarded-large", "vacant", "closed-idle")
    stage.kubectl("scale", "deployment", *away, "--replicas=0")
    slow = {"spec": {"startupTaints": [STARTING]}}
    patch(stage, "drifted", template=ANEW)
    patch(stage, "renewed", template=slow)
    patch(stage, "stalled", template=slow)
    patch(stage, "guarded", template=ANEW)
    stage.apply(REFUSED.pool(PREFERRED, weight=100))
    patch(stage, "refused", template=ANEW)
    wider = {"spec": {"requirements": [LINUX, ON_DEMAND, at_most(4)]}}
    patch(stage, "merged", template=wider)
    patch(stage, "closed", template=ANEW | wider)
    stage.plane.kubectl("scale", "nodepool", "fixed", "--replicas=1")


def _shrink(stage: Stage) -> None:
    """Take half of the pods, some from every node. The ReplicaSet is told which: left alone it may
    empty whole nodes, and then no pod has to be evicted. Nodes may go only once the
    PodDisruptionBudget counts the pods that are left: until then it allows too many evictions.
    """
    by_node: dict[str, list[str]] = {}
    for pod in pods_of(stage, SHRUNK):
        by_node.setdefault(pod["spec"]["nodeName"], []).append(pod["metadata"]["name"])
    in_turn = [name for names in zip_longest(*by_node.values()) for name in names if name]
    kept = in_turn[:N_AFTER]
    stage.kubectl("annotate", "--overwrite", "pods", *kept, f"{DELETION_COST}=100")
    stage.kubectl("scale", "deployment", "shrunk", f"--replicas={N_AFTER}")

    def is_counted() -> bool:
        status = one(stage.plane, "pdb", "shrunk", "-n", stage.name)["status"]
        return (status["expectedPods"], status["currentHealthy"]) == (N_AFTER, N_AFTER)

    until(is_counted, "the PodDisruptionBudget counts the pods that are left")
    patch(stage, "shrunk", disruption=disruption())


def patch(stage: Stage, pool: str, **spec: object) -> None:
    """Change the spec of a pool."""
    words = ("patch", "nodepool", pool, "--type=merge", "-p", json.dumps({"spec": spec}))
    stage.plane.kubectl(*words)


# ------------------------------------------------------------------ what is seen


@dataclass(frozen=True)
class Seen:
    """A stage on which everything is changing, and what has been watched since the beginning."""

    stage: Stage
    since: datetime
    pods: Callable[[], Objects]
    nodes: Callable[[], Objects]
    claims: Callable[[], Objects]


def pods_of(stage: Stage, script: Script) -> Objects:
    """The pods of a script's own app."""
    return stage.pods("-l", f"app={script.name}")


def nodes_of(stage: Stage, script: Script) -> Objects:
    """The nodes of a script."""
    return objects(stage.plane, "nodes", "-l", f"{STAGE}={script.name}")


def claims_of(stage: Stage, script: Script) -> Objects:
    """The claims of a script."""
    return objects(stage.plane, "nodeclaims", "-l", f"{STAGE}={script.name}")


def types_of(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the nodes are, in order."""
    return sorted(one["metadata"]["labels"][INSTANCE_TYPE] for one in nodes)


def names(found: Iterable[Mapping[str, Any]]) -> set[str]:
    """What they are called."""
    return {each["metadata"]["name"] for each in found}


def uids(found: Iterable[Mapping[str, Any]]) -> set[str]:
    """Who they are."""
    return {one["metadata"]["uid"] for one in found}


# ------------------------------------------------------------------ what the offline command says


def planned(trees: Iterable[Mapping[str, Any]], now: datetime) -> dict[str, Any]:
    """What `dovetail plan` says of these objects."""
    given = json.dumps(listed(dict(one) for one in trees))
    command = [sys.executable, "-m", "dovetail.cli", "plan", "-f", "-", "-o", "json"]
    asked = [*command, "--now", now.isoformat()]
    done = subprocess.run(asked, input=given, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def waiting(pod: Mapping[str, Any]) -> dict[str, Any]:
    """The pod, had nobody placed it yet."""
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return {**pod, "spec": spec, "status": {"phase": "Pending"}}
