from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from dovetail.errors import InputError
from dovetail.model.snapshot import Snapshot
from dovetail.sim.scenario.case import Case, Decider, Ready, ready, run
from dovetail.sim.scenario.reading import load
from dovetail.sim.weather import (
    ApiErrors,
    During,
    Offers,
    Reclaims,
    Shortage,
    SlowBoots,
    Storm,
    Weather,
)
from dovetail.testing import deployment, instance_type, node_pool, snapshot
from tests.unit.sim.scenario.files import written

HOUR = timedelta(hours=1)
SMALL = instance_type("small", cpu=4, memory="16Gi", price=1.0, spot=0.4)


def cluster() -> Snapshot:
    """One pool, and a Deployment of three pods that wait."""
    return snapshot(
        types=(SMALL,),
        node_pools=[node_pool()],
        pods=deployment(3, "api", cpu=1, owner="Deployment/api"),
    )


def case(text: str, folder: Path, seed: int = 1) -> Case:
    """A scenario with this text on that cluster."""
    return Case(load(written(folder, text)), cluster(), seed)


def worked_out(text: str, folder: Path, seed: int = 1) -> Ready:
    """The same, worked out."""
    return ready(case(text, folder, seed))


def complaint(text: str, folder: Path) -> str:
    """What is said of it, without the folder's name."""
    with pytest.raises(InputError) as caught:
        worked_out(text, folder)
    return str(caught.value).replace(f"{folder}/", "")


def test_requests_and_pod_make_one_spec(tmp_path: Path) -> None:
    """What `pod` says is kept, `requests` is one container."""
    text = """
    workloads:
      web:
        requests: {cpu: 500m, memory: 1Gi}
        replicas: 2
        pod: {nodeSelector: {disk: fast}, priority: 7}
    """
    (web,) = worked_out(text, tmp_path).demand.workloads
    assert (web.spec.requests["cpu"], web.spec.node_selector) == (500, {"disk": "fast"})
    assert web.spec.priority == 7


def test_pods_carry_the_annotations_of_their_workload(tmp_path: Path) -> None:
    """Such as the one that protects them."""
    mark = "{karpenter.sh/do-not-disrupt: true}"
    text = f"""
    workloads: {{web: {{requests: {{cpu: 1}}, replicas: 2, annotations: {mark}}}}}
    cronWorks: {{job: {{requests: {{cpu: 1}}, annotations: {mark}}}}}
    """.replace("true", '"true"')
    demand = worked_out(text, tmp_path).demand
    assert demand.workloads[0].annotations == {"karpenter.sh/do-not-disrupt": "true"}
    assert demand.cron_works[0].annotations == {"karpenter.sh/do-not-disrupt": "true"}


def test_a_workload_of_the_cluster_is_taken_over(tmp_path: Path) -> None:
    """Its pods are not made twice: three are there, five are wanted."""
    text = "lasts: 1h\nworkloads: {api: {of: default/api, replicas: 5}}"
    held = case(text, tmp_path)
    (api,) = ready(held).demand.workloads
    assert api.spec == cluster().pods[0].spec
    assert run(held, lambda _: None).report.n_bound == 5


def test_pods_that_no_workload_names_keep_their_number(tmp_path: Path) -> None:
    """A dump alone is a scenario."""
    assert run(case("lasts: 1h", tmp_path), lambda _: None).report.n_bound == 3


def test_rollouts_come_again_between_two_moments(tmp_path: Path) -> None:
    """Both included."""
    text = """
    workloads:
      web:
        requests: {cpu: 1}
        replicas: 2
        rollouts: {every: 2h, from: 8h, until: 12h}
    """
    (web,) = worked_out(text, tmp_path).demand.workloads
    assert web.rollouts == (8 * HOUR, 10 * HOUR, 12 * HOUR)


def test_failures_become_weather(tmp_path: Path) -> None:
    """Each word its own kind; only spot is taken back unless the file says otherwise."""
    text = """
    failures:
      - {noCapacity: true, zone: a, from: 1h, for: 2h}
      - {interruptions: 5%}
      - {storm: 40%, from: 3h}
      - {slowBoots: 3, type: "s*", from: 1h, for: 1h}
      - {apiErrors: 50%, from: 2h, for: 1h}
    """
    day = During(0 * HOUR, 24 * HOUR)
    spot = Offers(capacity_type="spot")
    assert worked_out(text, tmp_path).manner.weather == Weather(
        shortages=(Shortage(Offers(zone="a"), During(HOUR, 3 * HOUR)),),
        reclaims=(Reclaims(0.05, spot, day),),
        storms=(Storm(3 * HOUR, 0.4, spot),),
        slow_boots=(SlowBoots(3.0, Offers(instance_type="s*"), During(HOUR, 2 * HOUR)),),
        api_errors=(ApiErrors(0.5, During(2 * HOUR, 3 * HOUR)),),
    )


def test_a_price_walks_within_its_bounds_in_each_zone_on_its_own(tmp_path: Path) -> None:
    """Drawn by the seed."""
    text = "prices: [{capacityType: spot, walk: {every: 1h, deviation: 50%}}]"
    courses = worked_out(text, tmp_path).manner.weather.prices
    assert [one.offers.zone for one in courses] == ["a", "b", "c"]
    assert len({one.steps for one in courses}) == 3
    assert all(0.5 <= factor <= 2.0 for one in courses for _, factor in one.steps)
    assert worked_out(text, tmp_path).manner.weather.prices == courses
    assert worked_out(text, tmp_path, seed=2).manner.weather.prices != courses


def test_a_trace_gives_replicas_and_its_bad_rows_are_told(tmp_path: Path) -> None:
    """The trace stands beside the scenario."""
    written(tmp_path, "time,workload,replicas\n1h,web,4\nx,web,5\n", "load.csv")
    text = "trace: load.csv\nworkloads: {web: {requests: {cpu: 1}}}"
    found = worked_out(text, tmp_path)
    assert found.demand.workloads[0].replicas == ((HOUR, 4),)
    assert len(found.remarks) == 1


def test_recorded_pods_come_once(tmp_path: Path) -> None:
    """They run for as long as they did."""
    written(tmp_path, "start,duration,cpu,count\n10m,20m,1,2\n", "pods.csv")
    (work,) = worked_out("trace: pods.csv", tmp_path).demand.cron_works
    assert (work.every, work.n_pods, work.runs_for) == (None, 2, HOUR / 3)


def seen_at(moment: datetime) -> Snapshot:
    """The same cluster, whose pods were made then."""
    held = cluster()
    pods = tuple(msgspec.structs.replace(one, created_at=moment) for one in held.pods)
    return msgspec.structs.replace(held, pods=pods)


def test_without_a_start_it_begins_when_the_cluster_was_last_seen(tmp_path: Path) -> None:
    """Or on a Monday, where nothing tells."""
    text = load(written(tmp_path, "lasts: 1h"))
    known = seen_at(datetime(2026, 3, 1, 6, 5, 10, tzinfo=UTC))
    assert ready(Case(text, known, 1)).manner.start == datetime(2026, 3, 1, 6, 6, tzinfo=UTC)
    assert ready(Case(text, cluster(), 1)).manner.start == datetime(2026, 1, 5, tzinfo=UTC)


def test_a_start_before_the_cluster_was_seen_is_remarked_upon(tmp_path: Path) -> None:
    """Its pods would count as new."""
    text = load(written(tmp_path, "start: 2026-01-01T00:00:00Z"))
    known = seen_at(datetime(2026, 3, 1, tzinfo=UTC))
    (said,) = ready(Case(text, known, 1)).remarks
    assert said.startswith("The cluster speaks of 2026-03-01T00:00:00+00:00, and the simulation")


BAD = {
    "a workload that asks for nothing": (
        "workloads: {web: {replicas: 2}}",
        (
            "day.yaml: workloads.web.requests: missing; expected the requests of a pod, such as "
            "{cpu: 500m, memory: 1Gi}"
        ),
    ),
    "a workload without a number": (
        "workloads: {web: {requests: {cpu: 1}}}",
        (
            "day.yaml: workloads.web.replicas: missing; expected a number, steps or a wave, or "
            "rows of the trace"
        ),
    ),
    "a quantity that is none": (
        "workloads: {web: {requests: {cpu: much}, replicas: 1}}",
        "day.yaml: workloads.web.pod.containers[0].resources.requests",
    ),
    "a workload that the cluster does not have": (
        "workloads: {web: {of: default/apu, replicas: 1}}",
        (
            "day.yaml: workloads.web.of: the cluster has no pods of default/apu; did you mean "
            "default/api?"
        ),
    ),
    "two failures in one": (
        "failures: [{storm: 5%, apiErrors: 5%}]",
        (
            "day.yaml: failures[0]: found storm and apiErrors; expected one of noCapacity, "
            "interruptions, storm, slowBoots, apiErrors"
        ),
    ),
    "a zone that nobody has": (
        "failures: [{noCapacity: true, zone: z}]",
        (
            "day.yaml: failures[0]: no offering of type any in zone z of capacity type any; "
            "expected offers of the catalogue, in zones a, b, c"
        ),
    ),
    "a price that neither steps nor walks": (
        "prices: [{zone: a}]",
        "day.yaml: prices[0]: expected either `factor` or `walk`",
    ),
    "a budget in words": (
        "workloads: {web: {requests: {cpu: 1}, replicas: 1, disruptionBudget: few}}",
        (
            "day.yaml: workloads.web.disruptionBudget: found 'few'; expected how many may be "
            "missing, such as 1 or 25%"
        ),
    ),
    "a cost that is none": (
        "policy: {evictionCost: much}",
        "day.yaml: policy: 'much' is no cost; expected a duration",
    ),
}


@pytest.mark.parametrize(("text", "want"), BAD.values(), ids=BAD)
def test_what_makes_no_sense_is_named(text: str, want: str, tmp_path: Path) -> None:
    """File, field, what was expected."""
    assert complaint(text, tmp_path).startswith(want)


@pytest.mark.parametrize("decider", list(Decider))
def test_the_same_seed_gives_the_same_day(decider: Decider, tmp_path: Path) -> None:
    """Whoever decides."""
    text = """
    lasts: 2h
    workloads: {web: {requests: {cpu: 1}, replicas: {low: 2, high: 9, peak: 1h, noise: 10%}}}
    prices: [{capacityType: spot, walk: {every: 10m}}]
    failures: [{interruptions: 50%}]
    """
    held = Case(load(written(tmp_path, text)), cluster(), 3, decider)
    first, again = run(held, lambda _: None), run(held, lambda _: None)
    assert first == again
    other = run(Case(held.text, held.cluster, 4, decider), lambda _: None)
    assert other.report != first.report


def test_somebody_hears_how_far_it_has_come(tmp_path: Path) -> None:
    """In the time of the simulation."""
    heard: list[str] = []
    text = "lasts: 1h\ncronWorks: {tick: {requests: {cpu: 1}, every: 5m, runsFor: 1m}}"
    run(case(text, tmp_path), heard.append)
    assert heard[0].startswith("simulating: ")
    assert "Mon 00:" in heard[0]
