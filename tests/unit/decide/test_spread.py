from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.decide.spread import with_default_spread
from dovetail.model.pod import Owner, Pod, PodSpec
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Service, Snapshot
from dovetail.model.topology import NOTHING, LabelSelector, Spread, equality

SPEC = PodSpec({"cpu": 100})
DEFAULT = Spread(labels.ZONE, NOTHING, max_skew=3, is_hard=False)
POLICY = Policy(default_spread=(DEFAULT,))
LABELS = {"app": "web", "tier": "front"}
REPLICA = Owner("ReplicaSet", "rs", "rs-uid")


def pod(name: str = "web", owner: Owner | None = None, spec: PodSpec = SPEC) -> Pod:
    """A pod of the web application."""
    return Pod(name, "shop", spec, labels=LABELS, owner=owner)


def cluster(
    services: tuple[Service, ...] = (), owner_selectors: dict[str, LabelSelector] | None = None
) -> Snapshot:
    """A cluster with default spread over zones."""
    return Snapshot(policy=POLICY, services=services, owner_selectors=owner_selectors or {})


APP = Service("a", "shop", {"app": "web"})
TIER = Service("b", "shop", {"tier": "front"})


@pytest.mark.parametrize(
    ("snapshot", "owner", "want"),
    [
        pytest.param(cluster((APP,)), None, {"app": "web"}, id="a service"),
        pytest.param(cluster((APP, TIER)), None, LABELS, id="two services together"),
        pytest.param(
            cluster((APP,), {"rs-uid": equality({"tier": "front"})}),
            REPLICA,
            LABELS,
            id="a service and a replica set",
        ),
        pytest.param(
            cluster((), {"StatefulSet/shop/ss": equality({"app": "web"})}),
            Owner("StatefulSet", "ss"),
            {"app": "web"},
            id="an owner without a uid is found by name",
        ),
        pytest.param(
            cluster((APP,), {"rc": equality({"app": "web"})}),
            Owner("ReplicationController", "rc", "rc"),
            {"app": "web"},
            id="a replication controller",
        ),
    ],
)
def test_the_selector_is_deduced_from_services_and_the_controller(
    snapshot: Snapshot, owner: Owner | None, want: dict[str, str]
) -> None:
    """As kube-scheduler deduces it: services merged, the controller's own added."""
    (got,) = with_default_spread((pod(owner=owner),), snapshot)
    assert got.spec.spread == (Spread(labels.ZONE, equality(want), max_skew=3, is_hard=False),)


@pytest.mark.parametrize(
    ("snapshot", "owner"),
    [
        pytest.param(cluster(), None, id="nothing selects it"),
        pytest.param(cluster((Service("a", "other", {"app": "web"}),)), None, id="elsewhere"),
        pytest.param(cluster((Service("a", "shop", {"app": "db"}),)), None, id="other pods"),
        pytest.param(cluster((Service("a", "shop"),)), None, id="a service without selector"),
        pytest.param(
            cluster((), {"j": equality({"app": "web"})}), Owner("Job", "j", "j"), id="a job"
        ),
        pytest.param(cluster((), {"rs-uid": NOTHING}), REPLICA, id="a selector of nothing"),
    ],
)
def test_nothing_deduced_nothing_added(snapshot: Snapshot, owner: Owner | None) -> None:
    """A pod that nobody selects is not spread."""
    asked = pod(owner=owner)
    assert with_default_spread((asked,), snapshot) == (asked,)


def test_own_constraints_keep_the_defaults_away() -> None:
    """Even one soft constraint of its own is enough."""
    own = PodSpec({"cpu": 100}, spread=(Spread(labels.HOSTNAME, NOTHING, is_hard=False),))
    asked = pod(spec=own)
    assert with_default_spread((asked,), cluster((APP,))) == (asked,)


def test_pods_of_one_template_still_share_one_spec() -> None:
    """Grouping goes by identity, so one new spec is made per old spec and selector."""
    first, second = with_default_spread((pod("a"), pod("b")), cluster((APP,)))
    assert first.spec is second.spec
    assert first.spec is not SPEC


def test_without_defaults_pods_stay_as_they_are() -> None:
    """The very same objects come back."""
    asked = pod()
    (got,) = with_default_spread((asked,), Snapshot(services=(APP,)))
    assert got is asked
