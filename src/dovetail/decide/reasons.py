"""Explains why pods are unschedulable, and what would change that.

For every pod that was left over: one sentence, the constraint that removed the last instance types
of each NodePool, and the smallest change that would help. Pods alike are explained once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dovetail.decide.explain import clause, say, sentence
from dovetail.decide.fixes import best_repair
from dovetail.decide.pools import RefusedPool
from dovetail.decide.sieve import sift
from dovetail.decide.sieve.shelf import TypeShelf
from dovetail.decide.sieve.state import Ask, Bench, Finding, ask_of
from dovetail.decide.sieve.typesets import TypeTable
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement
from dovetail.model.topology import NodeTerm, PodTerm, narrow
from dovetail.model.verdict import PoolReason, Problem, Reason, Unschedulable
from dovetail.model.volumes import NO_VOLUMES, PodVolumes

_NONE: frozenset[int] = frozenset()


class Context(msgspec.Struct, frozen=True):
    """What there is to explain with.

    `remaining` is what each pool's limits leave after the plan, `volumes` is by pod key, `nodes`
    are the usable ones. `pods` are all that run or are planned somewhere (None: not known); with
    them, an affinity to pods that are nowhere is told from one that cannot be met.
    """

    pools: tuple[NodePool, ...] = ()
    refused_pools: tuple[RefusedPool, ...] = ()
    instance_types: Mapping[str, tuple[InstanceType, ...]] = {}
    remaining: Mapping[str, Mapping[str, int]] = {}
    volumes: Mapping[str, PodVolumes] = {}
    daemon_sets: tuple[DaemonSet, ...] = ()
    nodes: tuple[Node, ...] = ()
    policy: Policy = Policy()
    pods: tuple[Pod, ...] | None = None


def explain_unplaced(pods: Iterable[Pod], context: Context) -> tuple[Unschedulable, ...]:
    """Why each of these pods was left over, in their order."""
    explainer = _Explainer(context)
    return tuple(explainer.explain(pod) for pod in pods)


def explain_refused(refused: Iterable[tuple[Pod, Problem]]) -> tuple[Unschedulable, ...]:
    """The same for pods that could not be planned for at all: one reason, of no pool."""
    return tuple(_refusal(pod, problem) for pod, problem in refused)


def _refusal(pod: Pod, problem: Problem) -> Unschedulable:
    told = problem.message or sentence(problem.reason)
    told = told if told.endswith(".") else f"{told}."
    return Unschedulable(pod.key, told, (PoolReason("", problem.reason, told),), problem.fix)


class _Explanation(msgspec.Struct, frozen=True):
    """What is said of pods alike."""

    summary: str
    reasons: tuple[PoolReason, ...]
    fix: str


_Likeness = tuple[
    int, tuple[tuple[NodeTerm, ...], ...], tuple[tuple[str, int], ...], frozenset[int]
]


class _Explainer:
    """Explanations so far, and the pools' shelves, filled when first needed."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._gathering = Gathering(context.pods)
        self._tables: dict[tuple[int, ...], TypeTable] = {}
        self._benches: dict[str, Bench] = {}
        self._explanations: dict[_Likeness, _Explanation] = {}
        self._known_keys: frozenset[str] | None = None

    def explain(self, pod: Pod) -> Unschedulable:
        """Why one pod was left over."""
        volumes = self._context.volumes.get(pod.key, NO_VOLUMES)
        lonely = self._gathering.lonely_terms(pod)
        attached = tuple((driver, len(claims)) for driver, claims in volumes.attachments)
        likeness = (id(pod.spec), volumes.alternatives, attached, lonely)
        if likeness not in self._explanations:
            self._explanations[likeness] = self._explanation_of(ask_of(pod.spec, volumes, lonely))
        told = self._explanations[likeness]
        return Unschedulable(pod.key, told.summary, told.reasons, told.fix)

    def _explanation_of(self, ask: Ask) -> _Explanation:
        context = self._context
        if not context.pools and not context.refused_pools:
            told = say(Reason.NO_NODE_POOLS)
            reason = PoolReason("", Reason.NO_NODE_POOLS, told)
            return _Explanation(told, (reason,), "create a NodePool")
        benches = [self._bench(pool) for pool in context.pools]
        findings = [(bench, sift(bench, ask)) for bench in benches]
        failing = [(bench, finding) for bench, finding in findings if finding is not None]
        reasons = (
            *(_pool_reason(bench, finding) for bench, finding in failing),
            *(self._refused_reason(pool, problem) for pool, problem in context.refused_pools),
        )
        return _Explanation(_summary(reasons), reasons, self._fix(ask, failing))

    def _fix(self, ask: Ask, findings: Sequence[tuple[Bench, Finding]]) -> str:
        """What to change; pools that are refused are looked at only if no other can help."""
        best = best_repair(ask, findings, self._keys)
        if best is not None:
            return best.text
        return self._pool_fix(ask) or _fix_of_empty(findings)

    def _pool_fix(self, ask: Ask) -> str:
        for pool, problem in self._context.refused_pools:
            if not problem.fix or not self._context.instance_types.get(pool.name):
                continue
            bench = self._bench(pool)
            finding = sift(bench, ask)
            if finding is None or _is_between_pods(finding):
                return problem.fix
            mended = best_repair(ask, [(bench, finding)], self._keys)
            if mended is not None:
                return f"{problem.fix}, and {mended.text}"
        return ""

    def _refused_reason(self, pool: NodePool, problem: Problem) -> PoolReason:
        n_types = len(self._context.instance_types.get(pool.name, ()))
        return PoolReason(pool.name, problem.reason, problem.message, n_types)

    def _bench(self, pool: NodePool) -> Bench:
        if pool.name not in self._benches:
            context = self._context
            table = self._table(context.instance_types.get(pool.name, ()))
            shelf = TypeShelf(pool, table, context.daemon_sets)
            remaining = context.remaining.get(pool.name, pool.limits)
            self._benches[pool.name] = Bench(shelf, remaining, context.policy.min_values_policy)
        return self._benches[pool.name]

    def _table(self, types: tuple[InstanceType, ...]) -> TypeTable:
        identity = tuple(map(id, types))
        if identity not in self._tables:
            # By name, so that a type named as an example does not depend on the order of input.
            self._tables[identity] = TypeTable(tuple(sorted(types, key=lambda kind: kind.name)))
        return self._tables[identity]

    def _keys(self) -> frozenset[str]:
        """Every label that a node has or could have."""
        if self._known_keys is None:
            keys: set[str] = set()
            for bench in self._benches.values():
                keys.update(bench.shelf.stated)
            for table in self._tables.values():
                keys.update(table.keys())
            for node in self._context.nodes:
                keys.update(node.labels)
            self._known_keys = frozenset(keys)
        return self._known_keys


def _fix_of_empty(findings: Sequence[tuple[Bench, Finding]]) -> str:
    """Where a pool has no types at all, nothing is known about what would come after."""
    for bench, finding in findings:
        if finding.reason is Reason.NO_INSTANCE_TYPES:
            return f"widen the requirements of NodePool {bench.shelf.pool.name}"
    return ""


def _is_between_pods(finding: Finding) -> bool:
    return finding.reason in (Reason.TOPOLOGY_SPREAD, Reason.POD_AFFINITY, Reason.POD_ANTI_AFFINITY)


def _pool_reason(bench: Bench, finding: Finding) -> PoolReason:
    name = bench.shelf.pool.name
    return PoolReason(name, finding.reason, finding.tell(), finding.left.bit_count())


def _summary(reasons: Sequence[PoolReason]) -> str:
    """One sentence for all pools."""
    if len(reasons) == 1:
        why = _without_capital(reasons[0].message)
        return f"NodePool {reasons[0].node_pool} cannot launch a node for it: {why}"
    pools_by_reason: dict[str, list[str]] = {}
    for pool_reason in reasons:
        pools_by_reason.setdefault(pool_reason.reason, []).append(pool_reason.node_pool)
    if len({pool_reason.message for pool_reason in reasons}) == 1:
        return f"No NodePool can launch a node for it: {_without_capital(reasons[0].message)}"
    told = "; ".join(
        f"{clause(reason)} ({_names(pools)})" for reason, pools in pools_by_reason.items()
    )
    return f"None of {len(reasons)} NodePools can launch a node for it: {told}."


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} others" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _without_capital(message: str) -> str:
    """A sentence as the second half of another; names keep their capitals."""
    first, _, rest = message.partition(" ")
    return f"{first.lower()} {rest}" if first.isalpha() and first.istitle() else message


class Gathering:
    """The labels of all pods that have a node, read when the first affinity asks for them.

    Where nobody knows who has a node (None), nobody is said to be alone.
    """

    def __init__(self, pods: Iterable[Pod] | None) -> None:
        self._pods = pods
        self._seen: set[tuple[str, str, str]] | None = None  # namespace or "", key, value

    def lonely_terms(self, pod: Pod) -> frozenset[int]:
        """The affinity terms, by position, that certainly no pod satisfies, this one included.

        Only labels asked for by value are looked at, each for itself: what is not certain is left
        out.
        """
        if not pod.spec.affinity or self._pods is None:
            return _NONE
        return frozenset(
            position
            for position, term in enumerate(pod.spec.affinity)
            if self._is_lonely(pod, term)
        )

    def _is_lonely(self, pod: Pod, term: PodTerm) -> bool:
        selector = narrow(
            term.selector,
            pod.labels,
            match=term.match_label_keys,
            mismatch=term.mismatch_label_keys,
        )
        if selector.nothing:
            return True
        anywhere = term.namespace_selector is not None
        namespaces = ("",) if anywhere else term.namespaces or (pod.namespace,)
        if selector.matches(pod.labels) and (anywhere or pod.namespace in namespaces):
            return False  # the first of its kind may stand alone
        return any(not self._has(expression, namespaces) for expression in selector.expressions)

    def _has(self, asked: Requirement, namespaces: tuple[str, ...]) -> bool:
        if asked.complement or not asked.values:
            return True
        seen = self._labels()
        return any(
            (namespace, asked.key, value) in seen
            for namespace in namespaces
            for value in asked.values
        )

    def _labels(self) -> set[tuple[str, str, str]]:
        if self._seen is None:
            self._seen = set()
            for pod in self._pods or ():
                for key, value in pod.labels.items():
                    self._seen.add((pod.namespace, key, value))
                    self._seen.add(("", key, value))
        return self._seen
