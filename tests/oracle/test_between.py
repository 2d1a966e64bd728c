"""The filters between pods refuse what kube-scheduler refuses, and nothing else."""

from __future__ import annotations

from typing import Any

from dovetail import labels
from dovetail.model.pod import DaemonSet, Owner, Pod
from dovetail.model.policy import Policy
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import Service, Snapshot
from dovetail.model.taints import Taint
from dovetail.model.topology import NOTHING, LabelSelector, PodTerm, Spread, equality
from tests.oracle.build import NOW, ask, host, pod, world
from tests.oracle.scheduler import refusal

WEB = equality({"app": "web"})
RACK = "example.com/rack"


def spread(**fields: Any) -> Spread:
    """A hard zone spread of web pods, skew 1."""
    given: dict[str, Any] = {"topology_key": labels.ZONE, "selector": WEB, **fields}
    return Spread(**given)


def web(name: str = "web", *constraints: Spread, **fields: Any) -> Pod:
    """A pod with label app=web and these spread constraints."""
    return pod(name, labels={"app": "web"}, spec=ask(spread=constraints), **fields)


def term(key: str = labels.ZONE, /, **fields: Any) -> PodTerm:
    """Web pods, within a zone."""
    given: dict[str, Any] = {"topology_key": key, "selector": WEB, **fields}
    return PodTerm(**given)


# ------------------------------------------------------------------ spread


def test_no_domain_may_run_ahead_by_more_than_the_skew() -> None:
    """One pod in zone a, none in zone b: the next goes to b."""
    a, b = host("n1", zone="a"), host("n2", zone="b")
    around = world(a, b, n1=[web("w1")])
    assert refusal(around, web("w", spread()), a) is not None
    assert refusal(around, web("w", spread()), b) is None
    assert refusal(around, web("w", spread(max_skew=2)), a) is None
    assert refusal(around, web("w", spread(is_hard=False)), a) is None


def test_the_minimum_is_over_domains_that_exist() -> None:
    """With one zone there is nothing to be ahead of, also by host name."""
    a = host("n1", zone="a")
    around = world(a, n1=[web("w1"), web("w2")])
    assert refusal(around, web("w", spread()), a) is None
    assert refusal(around, web("w", spread(topology_key=labels.HOSTNAME)), a) is None


def test_too_few_domains_count_the_minimum_as_nothing() -> None:
    """MinDomains forces pods to wait for more domains."""
    a = host("n1", zone="a")
    assert refusal(world(a, n1=[web("w1")]), web("w", spread(min_domains=2)), a) is not None
    assert refusal(world(a), web("w", spread(min_domains=2)), a) is None


def test_a_node_without_the_key_is_refused_and_not_counted() -> None:
    """A node that lacks any of the keys takes no such pod and opens no domain."""
    plain, racked = host("n1"), host("n2", labels={RACK: "r1"})
    around = world(plain, racked, n2=[web("w1")])
    candidate = web("w", spread(topology_key=RACK), spread(topology_key=labels.HOSTNAME))
    assert refusal(around, candidate, plain) == f"spread: no label {RACK}"
    assert refusal(around, candidate, racked) is None


def test_a_pod_that_its_own_selector_does_not_mean_adds_nothing() -> None:
    """Without self match the count stays what it is."""
    a, b = host("n1", zone="a"), host("n2", zone="b")
    around = world(a, b, n1=[web("w1")])
    stranger = pod("s", spec=ask(spread=(spread(),)))
    assert refusal(around, stranger, a) is None


def test_only_pods_of_the_namespace_that_stay_are_counted() -> None:
    """Other namespaces and terminating pods do not count."""
    a, b = host("n1", zone="a"), host("n2", zone="b")
    leaving = web("w1", deleting_at=NOW)
    foreign = web("w2", namespace="other")
    assert refusal(world(a, b, n1=[leaving, foreign]), web("w", spread()), a) is None


def test_match_label_keys_narrow_the_count_to_the_same_revision() -> None:
    """Pods of another revision are not counted; a key that the pod lacks is ignored."""
    a, b = host("n1", zone="a"), host("n2", zone="b")
    old = pod("w1", labels={"app": "web", "rev": "1"})
    spec = ask(spread=(spread(match_label_keys=("rev",)),))
    new = pod("w", labels={"app": "web", "rev": "2"}, spec=spec)
    unversioned = pod("w", labels={"app": "web"}, spec=spec)
    around = world(a, b, n1=[old])
    assert refusal(around, new, a) is None
    assert refusal(around, unversioned, a) is not None


def test_node_affinity_policy_decides_whether_unusable_nodes_open_domains() -> None:
    """Honor leaves out nodes that the pod does not select; Ignore counts them."""
    a, b = host("n1", zone="a", labels={"team": "red"}), host("n2", zone="b")
    around = world(a, b, n1=[web("w1")])

    def picky(policy: str) -> Pod:
        spec = ask(node_selector={"team": "red"}, spread=(spread(node_affinity_policy=policy),))
        return pod("w", labels={"app": "web"}, spec=spec)

    assert refusal(around, picky("Honor"), a) is None
    assert refusal(around, picky("Ignore"), a) is not None


def test_node_taints_policy_decides_whether_tainted_nodes_open_domains() -> None:
    """Honor leaves out nodes whose taints the pod does not tolerate; Ignore counts them."""
    a, b = host("n1", zone="a"), host("n2", zone="b", taints=(Taint("k"),))
    around = world(a, b, n1=[web("w1")])
    assert refusal(around, web("w", spread(node_taints_policy="Honor")), a) is None
    assert refusal(around, web("w", spread(node_taints_policy="Ignore")), a) is not None


def test_default_constraints_take_their_selector_from_services_and_owners() -> None:
    """A pod without constraints gets the cluster's, if anything selects it."""
    policy = Policy(default_spread=(spread(selector=NOTHING),))
    served = Snapshot(policy=policy, services=(Service("s", "default", {"app": "web"}),))
    owned = Snapshot(policy=policy, owner_selectors={"uid-rs": WEB})
    a, b = host("n1", zone="a"), host("n2", zone="b")
    mine = web("w", owner=Owner("ReplicaSet", "rs", "uid-rs"))
    assert refusal(world(a, b, snapshot=served, n1=[web("w1")]), web("w"), a) is not None
    assert refusal(world(a, b, snapshot=owned, n1=[web("w1")]), mine, a) is not None
    assert refusal(world(a, b, snapshot=owned, n1=[web("w1")]), web("w"), a) is None


# ------------------------------------------------------------------ anti-affinity


def test_anti_affinity_keeps_away_from_the_domain_of_who_is_meant() -> None:
    """A pod that objects to web pods stays out of their zone."""
    a, same, b = host("n1", zone="a"), host("n2", zone="a"), host("n3", zone="b")
    around = world(a, same, b, n1=[web("w1")])
    shy = pod("s", spec=ask(anti_affinity=(term(),)))
    assert refusal(around, shy, same) is not None
    assert refusal(around, shy, b) is None


def test_anti_affinity_is_symmetric() -> None:
    """A pod already there may object to the one that comes."""
    a, b = host("n1", zone="a"), host("n2", zone="b")
    shy = pod("s", spec=ask(anti_affinity=(term(),)))
    around = world(a, b, n1=[shy])
    assert refusal(around, web("w"), a) == "anti-affinity of default/s"
    assert refusal(around, web("w"), b) is None
    assert refusal(around, pod("x"), a) is None


def test_a_node_without_the_key_is_in_no_domain() -> None:
    """Anti-affinity over a label that the node lacks keeps nobody away."""
    a, b = host("n1"), host("n2")
    shy = pod("s", spec=ask(anti_affinity=(term(RACK),)))
    assert refusal(world(a, b, n1=[web("w1")]), shy, a) is None


def test_terms_reach_only_the_namespaces_they_name() -> None:
    """Own namespace by default; a list or a selector on namespace labels otherwise."""
    found = Snapshot(namespaces={"default": {"env": "prod"}, "other": {"env": "dev"}})
    on = host("n1")
    around = world(on, snapshot=found, n1=[web("w1", namespace="other")])

    def refused(**fields: Any) -> bool:
        shy = pod("s", spec=ask(anti_affinity=(term(**fields),)))
        return refusal(around, shy, on) is not None

    def env(value: str) -> LabelSelector:
        return LabelSelector((requirement("env", "In", [value]),))

    assert not refused()
    assert refused(namespaces=("other",))
    assert not refused(namespaces=("elsewhere",))
    assert refused(namespace_selector=LabelSelector())
    assert refused(namespace_selector=env("dev"))
    assert not refused(namespace_selector=env("prod"))
    assert refused(namespaces=("other",), namespace_selector=env("prod"))


def test_match_and_mismatch_label_keys_compare_with_the_owner_of_the_term() -> None:
    """MatchLabelKeys want the same value, mismatchLabelKeys another one."""
    on = host("n1")
    around = world(on, n1=[pod("w1", labels={"app": "web", "rev": "1"})])

    def refused(rev: str, **fields: Any) -> bool:
        shy = pod("s", labels={"rev": rev}, spec=ask(anti_affinity=(term(**fields),)))
        return refusal(around, shy, on) is not None

    assert refused("1", match_label_keys=("rev",))
    assert not refused("2", match_label_keys=("rev",))
    assert not refused("1", mismatch_label_keys=("rev",))
    assert refused("2", mismatch_label_keys=("rev",))


def test_a_daemon_pod_still_to_come_keeps_others_off_its_node() -> None:
    """It will be there first, and anti-affinity is mutual; in wider domains nobody knows."""
    for key, want in (
        (labels.HOSTNAME, "anti-affinity of default/d, which is still to come"),
        (labels.ZONE, None),
    ):
        daemon = DaemonSet("d", "default", ask(anti_affinity=(term(key),)))
        on = host("n1", daemons=(daemon,))
        assert refusal(world(on), web("w"), on) == want
        assert refusal(world(on), pod("other"), on) is None


# ------------------------------------------------------------------ affinity


def test_affinity_wants_company_in_the_domain() -> None:
    """A pod that wants web pods near goes where one is."""
    a, b = host("n1", zone="a"), host("n2", zone="b")
    friend = pod("f", spec=ask(affinity=(term(),)))
    around = world(a, b, n1=[web("w1")])
    assert refusal(around, friend, a) is None
    assert refusal(around, friend, b) == "affinity"
    assert refusal(world(a, b), friend, a) == "affinity"


def test_the_first_of_a_group_that_wants_its_own_company_may_go_anywhere() -> None:
    """Nobody of the group is there yet, and the pod is one of them."""
    a, b = host("n1", zone="a"), host("n2", zone="b")
    first = pod("w", labels={"app": "web"}, spec=ask(affinity=(term(),)))
    assert refusal(world(a, b), first, b) is None
    assert refusal(world(a, b, n1=[web("w1")]), first, b) == "affinity"


def test_the_first_of_a_group_still_needs_the_key() -> None:
    """A node without the topology key never satisfies affinity."""
    first = pod("w", labels={"app": "web"}, spec=ask(affinity=(term(RACK),)))
    assert refusal(world(host("n1")), first, host("n1")) == "affinity: no label"


def test_only_pods_that_every_term_means_are_company() -> None:
    """Two terms are satisfied by pods that both of them select, not by one pod each."""
    on = host("n1")
    tier = term(selector=equality({"tier": "db"}))
    friend = pod("f", spec=ask(affinity=(term(), tier)))
    halves = [web("w1"), pod("d", labels={"tier": "db"})]
    whole = pod("both", labels={"app": "web", "tier": "db"})
    assert refusal(world(on, n1=halves), friend, on) == "affinity"
    assert refusal(world(on, n1=[whole]), friend, on) is None
