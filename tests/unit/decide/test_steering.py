"""Only pods whose nomination keeps nobody out are nominated."""

from __future__ import annotations

from dovetail.decide.steering import Steerable
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.topology import Spread, equality

ZONE = "topology.kubernetes.io/zone"


def pod(name: str, app: str, *spread: Spread, namespace: str = "shop") -> Pod:
    """A pod of an app."""
    spec = PodSpec(requests={"cpu": 1000}, spread=spread)
    return Pod(name=name, namespace=namespace, spec=spec, labels={"app": app})


def over_zones(app: str, *, is_hard: bool = True) -> Spread:
    """An app's pods are spread."""
    return Spread(ZONE, equality({"app": app}), is_hard=is_hard)


def test_pods_that_a_hard_spread_counts_are_left_to_the_scheduler() -> None:
    """It counts those of one node and not those of the others, and would bind nobody."""
    web, other = pod("web", "web", over_zones("web")), pod("other", "other")
    steerable = Steerable([web, other])
    assert not steerable.admits(web)
    assert steerable.admits(other)


def test_a_pod_without_a_spread_of_its_own_may_be_counted_by_anothers() -> None:
    """Whoever is counted keeps the others out, not who counts."""
    counting = pod("a", "a", over_zones("b"))
    counted, elsewhere = pod("b", "b"), pod("b", "b", namespace="other")
    steerable = Steerable([counting, counted])
    assert steerable.admits(counting)
    assert not steerable.admits(counted)
    assert steerable.admits(elsewhere)


def test_a_soft_spread_keeps_nobody_out() -> None:
    """It only weighs nodes."""
    web = pod("web", "web", over_zones("web", is_hard=False))
    assert Steerable([web]).admits(web)
