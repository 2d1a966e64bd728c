from __future__ import annotations

import pytest

from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.volumes import PodVolumes
from dovetail.solve.exact.placing import place_exactly
from dovetail.solve.finishing.ranking import rank
from dovetail.solve.finishing.soundness import is_sound
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod
from tests.unit.solve.exact.boards import LARGE, SMALL, n_placed, nothing_placed

HOST, ZONE = {"topology_key": "hostname"}, {"topology_key": "zone"}
MEDIUM = instance_type("medium", cpu=4, memory="16Gi", price=0.19, zones=("a",))


def price_of(pods: list[Pod], **parts: object) -> int:
    """What the first plan for pods of which all can be placed costs, in thousandths of a dollar."""
    (found,) = place_exactly(nothing_placed(pods, SMALL, MEDIUM, LARGE, **parts))
    attempt, waiting = found
    assert waiting == {}
    assert is_sound(attempt)
    assert n_placed(attempt) == len(pods)
    return attempt.price() // 10**6


@pytest.mark.parametrize(
    ("words", "want"),
    [
        pytest.param({}, 290, id="plain"),
        pytest.param({"anti_affinity": [HOST]}, 600, id="anti-affinity"),
        pytest.param({"affinity": [HOST]}, 350, id="affinity"),
        pytest.param({"host_ports": ["80"]}, 600, id="ports"),
    ],
)
def test_the_cheapest_plan_is_found(words: dict[str, object], want: int) -> None:
    """Six pods of 1 CPU on nodes of 2 for 0.10, 4 for 0.19 and 8 for 0.35."""
    assert price_of([*deployment(6, "web", cpu=1, **words)]) == want


def test_a_plan_that_is_the_best_is_left_alone() -> None:
    """What was found once is not found again."""
    (best,) = place_exactly(nothing_placed(deployment(6, cpu=1), SMALL, MEDIUM, LARGE))
    assert place_exactly(best) == []


@pytest.mark.parametrize(
    ("pods", "parts"),
    [
        pytest.param(deployment(61), {}, id="more than sixty pods"),
        pytest.param(deployment(2), {"policy": Policy(effort=0)}, id="no effort"),
        pytest.param(
            deployment(2),
            {"nodes": tuple(node(f"n{number}", zone="a") for number in range(13))},
            id="more than twelve nodes",
        ),
        pytest.param(
            deployment(2, claims=["x"]),
            {
                "volumes": {
                    f"default/web-{number}": PodVolumes(attachments=(("csi", ("default/x",)),))
                    for number in range(2)
                }
            },
            id="pods that share a volume",
        ),
    ],
)
def test_some_plans_are_not_looked_for(pods: tuple[Pod, ...], parts: dict[str, object]) -> None:
    """They would take too long, or have rules that the search does not know."""
    assert place_exactly(nothing_placed(pods, SMALL, **parts)) == []


def test_pods_of_higher_priority_are_placed() -> None:
    """One node may be bought, and it holds one of the two."""
    pods = [pod("low", cpu=2, priority=1), pod("high", cpu=2, priority=9)]
    found = place_exactly(nothing_placed(pods, SMALL, limits={"default": {"nodes": 1}}))
    assert len(found) == 2  # as searched, and with those that kube-scheduler would bind
    for attempt, waiting in found:
        (left_out,) = waiting
        assert attempt.enc.groups[left_out].pods[0].name == "low"


def test_as_few_as_possible_are_left_out() -> None:
    """One pod that repels two others is left out, rather than the two."""
    far = [{**HOST, "selector": {"tier": "x"}}]
    pods = [
        pod("loner", cpu=1, anti_affinity=far),
        *(pod(name, cpu=1, labels={"tier": "x"}) for name in ("a", "b")),
    ]
    found = place_exactly(nothing_placed(pods, SMALL, limits={"default": {"nodes": 1}}))
    assert {n_placed(attempt) for attempt, _ in found} == {2}


def test_a_limit_on_nodes_makes_them_larger() -> None:
    """One node for six pods, though two would be cheaper."""
    assert price_of([*deployment(6, cpu=1)], limits={"default": {"nodes": 1}}) == 350


def test_a_free_pod_leaves_the_zone_to_one_that_is_bound_to_it() -> None:
    """The pod with the node selector keeps off the other, which may go anywhere."""
    kind = instance_type("t", cpu=4, price=0.1, zones=("a", "b"))
    pinned = pod(
        "pinned",
        node_selector={"zone": "a"},
        anti_affinity=[{**ZONE, "selector": {"app": "free"}}],
    )
    found = place_exactly(nothing_placed([pod("free", labels={"app": "free"}), pinned], kind))
    (plan,) = found
    assert plan[1] == {}
    assert plan[0].bins.n == 2


def test_nobody_buys_while_existing_nodes_have_room() -> None:
    """A plan that costs nothing is the best."""
    there = node("n1", zone="a", cpu=4, memory="16Gi")
    assert price_of([*deployment(3, cpu=1)], nodes=(there,)) == 0


def test_every_plan_that_is_found_is_better() -> None:
    """It places more pods, or as many for less."""
    pods = [*deployment(4, "a", cpu=1, spread=[HOST]), *deployment(3, "b", cpu="1500m")]
    start = nothing_placed(pods, SMALL, LARGE)
    (found,) = place_exactly(start)
    assert rank(found) < rank(start)


def test_pods_in_heavier_pools_go_before_price() -> None:
    """The heavy pool sells only the large type."""
    pools = (node_pool("light", weight=1), node_pool("heavy", weight=9))
    kinds = {"light": (SMALL,), "heavy": (LARGE,)}
    (found,) = place_exactly(nothing_placed([pod(cpu=1)], node_pools=pools, instance_types=kinds))
    assert found[0].price() == 350_000_000
