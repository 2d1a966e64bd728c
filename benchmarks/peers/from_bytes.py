"""How long is the way from JSON bytes to a plan, and how much memory does it take?

`python -m benchmarks.peers.from_bytes 150000` writes the scenario `fleet` down as `kubectl get
pods,nodepools,daemonsets -A -o json` would (some eight kilobytes a pod) with its catalogue beside
it, and has a fresh process read and plan it. `--form compact` leaves out kubectl's indentation.
Exit code 1 when it takes more than it should. Loading Python is not counted, reading the files is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from benchmarks import manifests
from benchmarks.machine import facts, peak_mb
from benchmarks.manifests import Manifest
from benchmarks.results import Result
from benchmarks.rows import PEAK_MB, SECONDS
from benchmarks.runs import Trials, measured
from benchmarks.scenarios import fleet
from benchmarks.timing import n_placed
from dovetail import app
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.snapshot import Snapshot

FORMS: Final = ("kubectl", "compact")
LIMITS: Final = {SECONDS: 10.0, PEAK_MB: 1_500.0}
_LIMITED: Final = 150_000  # pods for which the limits are meant, and fewer
_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
PARTS: Final = ("bytes to objects", "objects to snapshot", "snapshot to plan")
_PROGRAM: Final = "benchmarks.peers.from_bytes"
_HASH: Final = "5d4f8c7b9"
_ARRIVAL: Final = timedelta(hours=1)


def write(snapshot: Snapshot, folder: Path, form: str) -> tuple[Path, Path]:
    """Write the cluster and its catalogue; where they are."""
    cluster, types = folder / "cluster.json", folder / "types.json"
    catalogue = next(iter(snapshot.instance_types.values()))
    types.write_text(app.catalogue_text(catalogue), encoding="utf-8")
    with cluster.open("wb") as file:
        file.writelines(_list(_objects(snapshot), form))
    return cluster, types


def _objects(snapshot: Snapshot) -> Iterator[Manifest]:
    yield from map(manifests.node_pool, snapshot.node_pools)
    yield from map(manifests.daemon_set, snapshot.daemon_sets)
    step = _ARRIVAL / max(1, len(snapshot.pods))
    for ordinal, pod in enumerate(snapshot.pods):
        yield _listed_pod(pod, ordinal, _NOW - _ARRIVAL + ordinal * step)


def _list(objects: Iterable[Manifest], form: str) -> Iterator[bytes]:
    """A List, piece by piece."""
    is_indented = form == "kubectl"
    yield b'{\n    "apiVersion": "v1",\n    "items": [' if is_indented else _COMPACT_START
    for ordinal, one in enumerate(objects):
        text = msgspec.json.encode(one, order="sorted")
        if is_indented:
            lines = msgspec.json.format(text, indent=4).replace(b"\n", b"\n        ")
            text = b"\n        " + lines
        yield b"," + text if ordinal else text
    yield b"\n    ],\n" + _INDENTED_END if is_indented else _COMPACT_END


_COMPACT_START: Final = b'{"apiVersion":"v1","items":['
_COMPACT_END: Final = b'],"kind":"List","metadata":{"resourceVersion":""}}'
_INDENTED_END: Final = (
    b'    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n'
)


def _listed_pod(pod: Pod, ordinal: int, created_at: datetime) -> Manifest:
    """A pod that waits, with all that a cluster adds to what somebody wrote."""
    app_name = pod.labels["app"]
    created = created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    unschedulable: Manifest = {
        "lastProbeTime": None,
        "lastTransitionTime": created,
        "message": "0/3 nodes are available: 3 node(s) had untolerated taint(s).",
        "reason": "Unschedulable",
        "status": "False",
        "type": "PodScheduled",
    }
    bare = manifests.pod(pod)
    metadata: Manifest = {
        "creationTimestamp": created,
        "generateName": f"{app_name}-{_HASH}-",
        "labels": {**pod.labels, "pod-template-hash": _HASH},
        "name": pod.name,
        "namespace": pod.namespace,
        "resourceVersion": str(1_000_000 + ordinal),
        "uid": f"{ordinal:08x}-5b1e-4c55-9c0e-{ordinal:012x}",
    }
    match bare["metadata"]:
        case {"ownerReferences": owners}:
            metadata["ownerReferences"] = owners
    return bare | {
        "metadata": metadata,
        "spec": _listed_spec(pod.spec, app_name, f"kube-api-access-{ordinal:06}"),
        "status": {"conditions": [unschedulable], "phase": "Pending", "qosClass": "Burstable"},
    }


def _listed_spec(spec: PodSpec, app_name: str, token: str) -> Manifest:
    plain = manifests.pod_spec(spec)
    match plain:
        case {"containers": [dict(main)]}:
            containers = [_MAIN | main | _named(app_name, token)]
        case _:
            msg = "a pod of a benchmark has one container"
            raise ValueError(msg)
    match plain.get("tolerations"):
        case [*own]:
            tolerations = [*own, *_EVERYBODY_TOLERATES]
        case _:
            tolerations = _EVERYBODY_TOLERATES
    own_volume = {"name": token, "projected": _TOKEN}
    return _DEFAULTED | plain | {
        "containers": containers,
        "tolerations": tolerations,
        "volumes": [own_volume],
    }  # fmt: skip


def _named(app_name: str, token: str) -> Manifest:
    mount = {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token}
    return {
        "image": f"registry.example.com/team/{app_name}:1.42.0",
        "volumeMounts": [mount | {"readOnly": True}],
    }


def _probe(path: str) -> Manifest:
    return {
        "failureThreshold": 3,
        "httpGet": {"path": path, "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 10,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }


def _field(path: str) -> Manifest:
    return {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}


_MAIN: Final[Manifest] = {
    "env": [
        {"name": "POD_NAME", "valueFrom": _field("metadata.name")},
        {"name": "LOG_LEVEL", "value": "info"},
    ],
    "imagePullPolicy": "IfNotPresent",
    "livenessProbe": _probe("/healthz"),
    "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
    "readinessProbe": _probe("/ready"),
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_EVERYBODY_TOLERATES: Final[list[object]] = [
    {
        "effect": "NoExecute",
        "key": f"node.kubernetes.io/{trouble}",
        "operator": "Exists",
        "tolerationSeconds": 300,
    }
    for trouble in ("not-ready", "unreachable")
]
_TOKEN: Final[Manifest] = {
    "defaultMode": 420,
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {
            "configMap": {
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
                "name": "kube-root-ca.crt",
            }
        },
        {"downwardAPI": {"items": [_field("metadata.namespace") | {"path": "namespace"}]}},
    ],
}
_DEFAULTED: Final[Manifest] = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "serviceAccount": "default",
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 30,
}


def measure(cluster: Path, types: Path) -> Result:
    """Read and plan, as `dovetail plan -f CLUSTER --catalog TYPES` does, and say what it took."""
    import dovetail.decide  # noqa: F401  loaded before the clock starts

    request = app.PlanRequest((str(cluster),), catalogue=str(types), now=_NOW)
    idle_mb = peak_mb()
    started, cpu_started = time.perf_counter(), time.process_time()
    planned = app.plan_from(request, stdin=sys.stdin.buffer, tell=lambda _: None)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    timings, plan = planned.timings, planned.plan
    parts = (timings.read_seconds, timings.encode_seconds, timings.solve_seconds)
    n_pods = len(planned.snapshot.pods)
    figures = {
        "pods": n_pods,
        "groups": plan.n_groups,
        "nodes": len(plan.launches),
        "$/h": plan.cost.new_nanousd / 1e9,
        "MB of JSON": cluster.stat().st_size / 1e6,
        SECONDS: seconds,
        "cpu seconds": cpu_seconds,
        **dict(zip(PARTS, parts, strict=True)),
        PEAK_MB: peak_mb(),
        "idle MB": idle_mb,
    }
    n_left = n_pods - n_placed(plan)
    failures = (f"{n_left} pods not placed",) if n_left else ()
    return Result(f"from bytes, {n_pods:,} pods", figures, failures=failures)


def best(n_pods: int, trials: Trials, form: str) -> Result:
    """Written once and read so often, each time in a process of its own; the fastest counts."""
    with tempfile.TemporaryDirectory() as folder:
        cluster, types = write(fleet(n_pods, trials.seed), Path(folder), form)
        what = ("read", str(cluster), str(types))
        runs = [measured(what, trials, program=_PROGRAM) for _ in range(trials.repeat)]
    found = min(runs, key=lambda one: (bool(one.failures), one.figures.get(SECONDS, 0.0)))
    limits = LIMITS if n_pods <= _LIMITED else {}
    return msgspec.structs.replace(found, limits=limits)


def main(arguments: Sequence[str]) -> int:
    """Measure, and print seconds by part and the peak of memory."""
    match tuple(arguments):
        case ("read", cluster, types, *_):
            result = measure(Path(cluster), Path(types))
            sys.stdout.buffer.write(msgspec.json.encode(result))
            return 0
    chosen = _parser().parse_args(arguments)
    machine = facts()
    result = best(chosen.pods, Trials(chosen.repeat, chosen.seed), chosen.form)
    print("\n".join(f"{name + ':':13}{value}" for name, value in machine.items()))
    print()
    print(told(result))
    return int(bool(result.misses))


def told(result: Result) -> str:
    """A line for each figure, with its limit, and the verdict."""
    lines = [
        f"{name:20}{_figure(value)}{_limit(name, result)}" for name, value in result.figures.items()
    ]
    return "\n".join((*lines, *(f"MISS: {miss}" for miss in result.misses)))


def _figure(value: float) -> str:
    return f"{value:>12,.2f}" if value % 1 else f"{value:>12,.0f}"


def _limit(name: str, result: Result) -> str:
    return f"  (at most {result.limits[name]:,g})" if name in result.limits else ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {_PROGRAM}", description=__doc__)
    parser.add_argument("pods", type=int, help="how many pods wait")
    parser.add_argument("--form", choices=FORMS, default=FORMS[0], help="how the JSON is laid out")
    parser.add_argument("--repeat", type=int, default=1, help="runs, of which the best counts")
    parser.add_argument("--seed", type=int, default=1, help="another seed is another cluster")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
