from __future__ import annotations

from dovetail.model.topology import LabelSelector, equality
from dovetail.solve.encoding.groups import group_pods, read_labels
from dovetail.solve.encoding.terms import (
    Namespaces,
    ProfileIndex,
    Term,
    TermKind,
    port_term,
    spread_keys,
    stated_by,
    takes,
)
from dovetail.testing.builders import pod


def terms_of(**words: object) -> list[Term]:
    """What one pod in namespace default states."""
    one = pod("web", labels={"app": "web", "tier": "front"}, **words)
    (group,) = group_pods([one], read_labels([one.spec], ()), {}, {})
    return stated_by(group, Namespaces({"other": {"env": "dev"}}, {"default"}))


def test_affinity_terms_of_one_pod_mean_the_same_pods() -> None:
    """Only pods that all terms select, in namespaces that all of them name, are company."""
    first, second = terms_of(
        affinity=[
            {"topology_key": "hostname", "selector": {"tier": "front"}},
            {"topology_key": "zone", "selector": {"app": "cache"}},
        ]
    )
    assert first.selector == second.selector
    assert len(first.selector.expressions) == 2
    assert (first.is_host, second.is_host) == (True, False)


def test_one_affinity_term_is_left_as_it_is() -> None:
    """A single term selects what it says."""
    (term,) = terms_of(affinity=[{"topology_key": "zone", "selector": {"app": "cache"}}])
    assert term.selector == equality({"app": "cache"})


def test_spreads_with_other_keys_are_other_terms() -> None:
    """A node without one of a pod's spread keys counts for none, so the keys tell terms apart."""
    (alone,) = terms_of(spread=[{"topology_key": "zone"}])
    paired = terms_of(spread=[{"topology_key": "zone"}, {"topology_key": "rack"}])
    assert alone.filter_key == b""
    assert alone not in paired


def test_soft_spreads_state_nothing() -> None:
    """ScheduleAnyway never keeps a pod from a node, nor a node from being counted."""
    soft = pod(spread=[{"topology_key": "zone", "when_unsatisfiable": "ScheduleAnyway"}])
    assert spread_keys(soft.spec) == ()


def test_a_term_without_namespaces_means_the_pods_own() -> None:
    """Neither a list nor a selector: the pod's namespace."""
    (term,) = terms_of(anti_affinity=[{"topology_key": "zone"}])
    assert term.namespaces == ("default",)


def test_an_absent_selector_selects_nobody() -> None:
    """`nothing` finds no profile, whatever there is."""
    index = ProfileIndex([("default", ("web",))], ("app",))
    term = Term(TermKind.ANTI, "zone", LabelSelector(nothing=True), ("default",))
    assert index.selected_profiles(term) == []


def test_a_port_is_taken_by_whoever_conflicts_with_it() -> None:
    """The wildcard address conflicts with every other."""
    taken = port_term(pod(host_ports=["8080"]).spec.host_ports[0])
    assert takes(pod(host_ports=["10.0.0.1:8080"]).spec, taken)
    assert not takes(pod(host_ports=["8081"]).spec, taken)
