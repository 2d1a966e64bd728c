"""Defines the fields of a scenario file, each with its default.

Moments and spans are written as `30m`, `6h` or `1d12h`; moments are counted from `start`. Shares
are written as `25%` or `0.25`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.model.policy import MinValuesPolicy, Policy, PreferencePolicy
from dovetail.sim.scenario.strict import Object, Share

_DEFAULT: Final = Policy()
_NOTHING: Final = timedelta(0)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(hours=24)


class Written(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What all of them have in common: camel case in the file, and nothing unknown."""


class WrittenStep(Written, frozen=True, kw_only=True):
    """From a moment on there are so many pods."""

    at: timedelta
    pods: int


class WrittenCurve(Written, frozen=True, kw_only=True):
    """A wave through the day, between `low` and `high`, highest at `peak` o'clock; on Saturdays and
    Sundays this share of it. An autoscaler looks every `step`, sees it with some `noise`, and lets
    changes below `tolerance` pass.
    """

    low: int
    high: int
    peak: timedelta = timedelta(hours=15)
    weekend: Share = Share(1.0)
    noise: Share = Share(0.0)
    step: timedelta = timedelta(minutes=5)
    tolerance: Share = Share(0.1)


class WrittenRollouts(Written, frozen=True, kw_only=True):
    """Rollouts again and again, between two moments."""

    every: timedelta
    begins: timedelta = msgspec.field(name="from", default=_NOTHING)
    until: timedelta | None = None


class WrittenWorkload(Written, frozen=True, kw_only=True):
    """Pods that are kept at a number. `requests` stands for one container that asks for so much,
    `pod` is a PodSpec as Kubernetes has it; `of` takes both from a workload of the cluster, by
    "namespace/name". `disruptionBudget` is a maxUnavailable.
    """

    namespace: str = "default"
    of: str = ""
    requests: dict[str, str] = {}
    pod: Object = Object()
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    replicas: int | tuple[WrittenStep, ...] | WrittenCurve | None = None
    rollouts: tuple[timedelta, ...] | WrittenRollouts = ()
    max_surge: Share = Share(0.25)
    max_unavailable: Share = Share(0.25)
    disruption_budget: str = ""
    stateful: bool = False
    ready_after: timedelta = timedelta(seconds=10)
    ends_after: timedelta = timedelta(seconds=5)


class WrittenCronWork(Written, frozen=True, kw_only=True):
    """Pods that come `every` so often, the first at `first`, run and succeed; without `every` they
    come once.
    """

    namespace: str = "default"
    requests: dict[str, str] = {}
    pod: Object = Object()
    annotations: dict[str, str] = {}
    every: timedelta | None = None
    first: timedelta = _NOTHING
    runs_for: timedelta = timedelta(minutes=10)
    pods: int = 1
    ends_after: timedelta = timedelta(seconds=5)


class WrittenWalk(Written, frozen=True, kw_only=True):
    """A price that wanders: every so often by so much up or down, between two shares of the listed
    one; `each` says what has a price of its own.
    """

    every: timedelta = _HOUR
    deviation: Share = Share(0.05)
    lowest: Share = Share(0.5)
    highest: Share = Share(2.0)
    each: str = "zone"


class WrittenPrice(Written, frozen=True, kw_only=True):
    """How the price of some offers moves: from `at` on it is `factor` times the listed one, up to
    `until`; or it walks.
    """

    type: str = ""
    zone: str = ""
    capacity_type: str = ""
    at: timedelta = _NOTHING
    until: timedelta | None = None
    factor: float | None = None
    walk: WrittenWalk | None = None


class WrittenFailure(Written, frozen=True, kw_only=True):
    """Something that goes wrong, `from` a moment `for` a while, for some offers. One of:
    `noCapacity: true`, `interruptions` an hour for each instance, `storm` for a share of them at
    once, `slowBoots` by a factor, `apiErrors` for a share of all orders.
    """

    type: str = ""
    zone: str = ""
    capacity_type: str = ""
    begins: timedelta = msgspec.field(name="from", default=_NOTHING)
    lasts: timedelta | None = msgspec.field(name="for", default=None)
    no_capacity: bool = False
    interruptions: Share | None = None
    storm: Share | None = None
    slow_boots: float | None = None
    api_errors: Share | None = None


class WrittenBoots(Written, frozen=True, kw_only=True):
    """How long machines take to start, at least and at most, and to end."""

    at_least: timedelta = timedelta(seconds=40)
    at_most: timedelta = timedelta(seconds=70)
    end: timedelta = timedelta(seconds=5)


class WrittenPolicy(Written, frozen=True, kw_only=True):
    """What `plan` has as flags. `spotToSpot` is the feature gate SpotToSpotConsolidation."""

    preference_policy: PreferencePolicy = PreferencePolicy.RESPECT
    min_values_policy: MinValuesPolicy = MinValuesPolicy.STRICT
    effort: int = _DEFAULT.effort
    spot_robustness: Share = Share(_DEFAULT.spot_robustness)
    least_saving_per_eviction: str = "0"
    most_evictions_per_day: int = -1
    eviction_cost: str = ""
    node_price: str = "0"
    spot_to_spot: bool = False
    disrupt: bool = True


class WrittenScenario(Written, frozen=True, kw_only=True):
    """A whole file. `cluster` names manifests or a dump, beside this file; `manifests` are the same
    in place. `looksEvery` is how often disruption is thought about; unless said, 1.5 seconds for
    each node, and at least a minute.
    """

    title: str = ""
    start: datetime | None = None
    lasts: timedelta = _DAY
    warm_up: timedelta = _NOTHING
    seed: int = 1
    catalog: str = ""
    cluster: tuple[str, ...] = ()
    manifests: tuple[Object, ...] = ()
    policy: WrittenPolicy = WrittenPolicy()
    looks_every: timedelta | None = None
    boots: WrittenBoots = WrittenBoots()
    workloads: dict[str, WrittenWorkload] = {}
    cron_works: dict[str, WrittenCronWork] = {}
    trace: str = ""
    drifts: tuple[timedelta, ...] = ()
    prices: tuple[WrittenPrice, ...] = ()
    failures: tuple[WrittenFailure, ...] = ()
