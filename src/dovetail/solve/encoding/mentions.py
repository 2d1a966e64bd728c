"""Collects the node labels that pods, daemon sets, volumes and topology rules mention.

New nodes get definite values of these labels, and only these become columns of the encoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dovetail import labels
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.requirements import Requirement
from dovetail.model.topology import NodeTerm
from dovetail.model.volumes import NO_VOLUMES
from dovetail.solve.encoding.groups import Group, distinct_specs
from dovetail.solve.encoding.offers import Mentions, mentions, pool_requirements
from dovetail.solve.puzzle import Puzzle


def label_mentions(
    problem: Puzzle, groups: Sequence[Group], specs: Iterable[PodSpec], bystanders: Sequence[Pod]
) -> Mentions:
    """All node labels that the puzzle mentions, with the values that are mentioned."""
    topology = {key for group in groups for key in _hard_topology_keys(group.spec)}
    topology.update(term.topology_key for spec in specs for term in spec.anti_affinity)
    expressions: list[Requirement] = []
    asking = [group.spec for group in groups] + distinct_specs(bystanders)
    for spec in (*asking, *(daemon_set.spec for daemon_set in problem.daemon_sets)):
        expressions += node_expressions(spec)
    volumes = {group.volumes: None for group in groups if group.volumes is not NO_VOLUMES}
    volumes.update((problem.volumes.get(pod.key, NO_VOLUMES), None) for pod in bystanders)
    for pod_volumes in volumes:
        for terms in pod_volumes.alternatives:
            expressions += [expression for term in terms for expression in term.expressions]
    keys = sorted({labels.normalize(key) for key in topology})
    expressions += [_known_domains(problem, key) for key in keys if not labels.is_well_known(key)]
    return mentions(expressions, keys)


def _known_domains(problem: Puzzle, key: str) -> Requirement:
    """The domains that nodes make, or that some pool lists: nodes of other pools may join them."""
    values = {node.labels[key] for node in problem.nodes if key in node.labels}
    for pool in problem.node_pools:
        requirement = pool_requirements(pool).get(key)
        values |= set() if requirement is None or requirement.complement else requirement.values
    return Requirement(key, False, frozenset(values))


def _hard_topology_keys(spec: PodSpec) -> list[str]:
    keys = [spread.topology_key for spread in spec.spread if spread.is_hard]
    return keys + [term.topology_key for term in (*spec.affinity, *spec.anti_affinity)]


def node_expressions(spec: PodSpec) -> list[Requirement]:
    """What a pod template requires or prefers of node labels."""
    if not (spec.node_selector or spec.required_terms or spec.preferred_terms):
        return []
    selected = [
        Requirement(labels.normalize(key), False, frozenset({value}))
        for key, value in spec.node_selector.items()
    ]
    terms: list[NodeTerm] = [*spec.required_terms, *(term for _, term in spec.preferred_terms)]
    return selected + [expression for term in terms for expression in term.expressions]


def mentioned_labels(group: Group) -> list[str]:
    """The node labels that pods of a group require or prefer something of, in order."""
    spec = group.spec
    keys = {expression.key for expression in node_expressions(spec)}
    volume_terms = [term for terms in group.volumes.alternatives for term in terms]
    keys |= {expression.key for term in volume_terms for expression in term.expressions}
    preferred = (term for _, term in (*spec.preferred_affinity, *spec.preferred_anti_affinity))
    topology = [spread.topology_key for spread in spec.spread]
    topology += [term.topology_key for term in (*spec.affinity, *spec.anti_affinity, *preferred)]
    return sorted(keys | {labels.normalize(key) for key in topology})
