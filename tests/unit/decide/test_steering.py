"""Only pods whose nomination keeps nobody out are nominated."""

from __future__ import annotations

from dovetail.decide.spread import Steerable
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.topology import Spread, equality

ZONE = "topology.kubernetes.io/zone"


def pod(name: str, app: str, *spread: Spread, namespace: str = "shop") -> Pod:
    """A pod of an app."""
    spec = PodSpec(requests={"cpu": 1000}, spread=spread)
    return Pod(name=name, namespace=namespace, spec=spec, labels={"app": app})


def over_zones(app: str, *, is_hard: bool = True, skew: int = 1) -> Spread:
    """An app's pods are spread."""
    return Spread(ZONE, equality({"app": app}), max_skew=skew, is_hard=is_hard)


def test_a_node_gets_as_many_as_the_skew_allows_of_those_that_a_hard_spread_counts() -> None:
    """It counts those of one node and not those of the others, so that more would seem too many."""
    webs = [pod(f"web-{n}", "web", over_zones("web", skew=2)) for n in range(4)]
    other = pod("other", "other")
    steerable = Steerable([*webs, other])
    assert steerable.choose([*webs, other]) == [*webs[:2], other]
    assert steerable.choose(webs[2:], told=webs[:1]) == webs[2:3]
    assert steerable.choose(webs[2:], told=webs[:2]) == []


def test_the_least_skew_of_all_who_count_holds() -> None:
    """Each of them must find that there are not too many."""
    webs = [pod(f"web-{n}", "web", over_zones("web", skew=3)) for n in range(3)]
    strict = pod("strict", "strict", over_zones("web", skew=1))
    assert Steerable([*webs, strict]).choose(webs) == webs[:1]


def test_a_pod_without_a_spread_of_its_own_may_be_counted_by_anothers() -> None:
    """Whoever is counted keeps the others out, not who counts."""
    counting = pod("a", "a", over_zones("b"))
    counted, elsewhere = pod("b", "b"), pod("b", "b", namespace="other")
    steerable = Steerable([counting, counted])
    assert not steerable.is_counted(counting)
    assert steerable.is_counted(counted)
    assert not steerable.is_counted(elsewhere)


def test_a_soft_spread_keeps_nobody_out() -> None:
    """It only weighs nodes."""
    webs = [pod(f"web-{n}", "web", over_zones("web", is_hard=False)) for n in range(3)]
    assert Steerable(webs).choose(webs) == webs
