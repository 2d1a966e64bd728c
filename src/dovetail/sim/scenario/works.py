"""Converts the workloads of a scenario for the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

import msgspec

from dovetail import api
from dovetail.api.validation import problems
from dovetail.decide.hints import closest_key
from dovetail.kube.manifests import figure_problems
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.snapshot import Snapshot
from dovetail.sim.demand import AppDemand, CronWork
from dovetail.sim.fast.adoption import name_of, workload_of
from dovetail.sim.scenario.curves import LoadCurve, Replicas, replicas, stream
from dovetail.sim.scenario.reading import begins_at
from dovetail.sim.scenario.strict import Object, Place
from dovetail.sim.scenario.written import (
    WrittenCronWork,
    WrittenRollouts,
    WrittenScenario,
    WrittenWorkload,
)
from dovetail.state.specs import Templates

_MOST_PODS: Final = 50_000


class Works:
    """All workloads of a scenario on a cluster."""

    def __init__(self, written: WrittenScenario, cluster: Snapshot, seed: int, file: str) -> None:
        self._written = written
        self._starts_at = begins_at(written, cluster)
        self._budgets = cluster.disruption_budgets
        self._samples: dict[str, Pod] = {}
        for pod in cluster.pods:
            self._samples.setdefault(name_of(pod), pod)
        self._seed = seed
        self._place = Place(file)
        self._templates = Templates()

    def workloads(self, recorded: Mapping[str, Replicas]) -> Iterator[AppDemand]:
        """Those that the file names, and those that only a trace names. Raises InputError."""
        for name, workload in self._written.workloads.items():
            yield self._workload(
                name, workload, recorded.get(name), self._place.of("workloads").of(name)
            )
        for name, curve in recorded.items():
            if name not in self._written.workloads:
                base = self._like(name, self._place.of("trace"))
                yield msgspec.structs.replace(base, replicas=curve)

    def names(self) -> frozenset[str]:
        """What a trace may speak of."""
        return frozenset((*self._written.workloads, *self._samples))

    def cron_works(self) -> Iterator[CronWork]:
        """Those of the file. Raises InputError."""
        for name, cron_work in self._written.cron_works.items():
            yield self._cron_work(name, cron_work, self._place.of("cronWorks").of(name))

    def spec(self, requests: Mapping[str, str], pod: Object, place: Place) -> PodSpec:
        """What a pod asks for. Raises InputError."""
        if not requests and not pod.get("containers"):
            place.of("requests").refuse(
                "missing; expected the requests of a pod, such as {cpu: 500m, memory: 1Gi}"
            )
        asked: dict[str, api.Tree] = dict(requests)
        container: api.Tree = {"name": "main", "image": "x", "resources": {"requests": asked}}
        tree: Object = Object(pod)
        if requests:
            tree = Object({**pod, "containers": [container]})
        pod_spec = _pod_spec(tree, place)
        spec, odd = self._templates.make(pod_spec, "default")
        for problem in odd:
            place.of("pod").refuse(problem.message)
        return spec

    def _workload(
        self, name: str, workload: WrittenWorkload, recorded: Replicas | None, place: Place
    ) -> AppDemand:
        if workload.of:
            base = self._like(workload.of, place.of("of"))
        else:
            spec = self.spec(workload.requests, workload.pod, place)
            base = AppDemand(
                name=name,
                namespace=workload.namespace,
                spec=spec,
                replicas=(),
                labels=workload.labels,
                annotations=workload.annotations,
                is_stateful=workload.stateful,
            )
        guard = _guard(workload.disruption_budget, place.of("disruptionBudget"))
        return msgspec.structs.replace(
            base,
            replicas=recorded if recorded is not None else self._replicas(name, workload, place),
            rollouts=tuple(self._rollouts(workload, place)),
            max_surge=round(100 * workload.max_surge),
            max_unavailable=round(100 * workload.max_unavailable),
            guard=guard or base.guard,
            least="" if guard else base.least,
            ready_after=workload.ready_after,
            ends_after=workload.ends_after,
        )

    def _replicas(self, name: str, written_workload: WrittenWorkload, place: Place) -> Replicas:
        if written_workload.replicas is None:
            if written_workload.of:
                return ()
            expected = "a number, steps or a wave, or rows of the trace"
            place.of("replicas").refuse(f"missing; expected {expected}")
        written = self._written
        chance = stream(self._seed, "replicas", name)
        course = LoadCurve(self._starts_at, written.lasts, chance)
        return replicas(written_workload.replicas, course, place.of("replicas"))

    def _rollouts(self, written_workload: WrittenWorkload, place: Place) -> Iterator[timedelta]:
        rollouts = written_workload.rollouts
        if not isinstance(rollouts, WrittenRollouts):
            yield from rollouts
            return
        if rollouts.every < timedelta(minutes=1):
            place.of("rollouts").of("every").refuse("expected at least 1m")
        at, until = rollouts.begins, rollouts.until or self._written.lasts
        while at <= until:
            yield at
            at += rollouts.every

    def _cron_work(self, name: str, work: WrittenCronWork, place: Place) -> CronWork:
        if not 0 <= work.pods <= _MOST_PODS:
            place.of("pods").refuse(f"found {work.pods}; expected up to {_MOST_PODS} pods")
        return CronWork(
            name=name,
            namespace=work.namespace,
            spec=self.spec(work.requests, work.pod, place),
            annotations=work.annotations,
            every=work.every,
            first_after=work.first,
            runs_for=work.runs_for,
            n_pods=work.pods,
            ends_after=work.ends_after,
        )

    def _like(self, name: str, place: Place) -> AppDemand:
        """A workload that the cluster has, by namespace/name."""
        sample = self._samples.get(name)
        if sample is None:
            near = closest_key(name, self._samples)
            meant = f"; did you mean {near}?" if near else "; expected namespace/name of a workload"
            place.refuse(f"the cluster has no pods of {name}{meant}")
        own = name_of(sample).rpartition("/")[2]
        return msgspec.structs.replace(workload_of(sample, self._budgets), name=own)


def _pod_spec(tree: Object, place: Place) -> api.PodSpec:
    """As if it stood in the manifest of a pod."""
    whole = api.Pod(metadata=api.ObjectMeta(name="pod"))
    try:
        spec = api.decode_at("spec", api.PodSpec, dict(tree))
        whole = msgspec.structs.replace(whole, spec=spec)
        odd = [*problems(whole), *figure_problems(whole)]
    except api.DecodeError as error:
        odd = [error.problem]
    for problem in odd:
        within = problem.field.removeprefix("spec").removeprefix(".")
        place.of("pod").of(within).refuse(problem.message)
    return whole.spec


def _guard(text: str, place: Place) -> str:
    number = text.removesuffix("%")
    if text and not (number.isascii() and number.isdecimal() and len(number) < 7):
        place.refuse(f"found {text!r}; expected how many may be missing, such as 1 or 25%")
    return text
