"""Computes quantiles of recent observations, and defines the bounds of every histogram.

The Prometheus client for Python has summaries without quantiles; the reference's dashboards read
them. Memory is bounded: each series remembers its last thousand values, sums and counts all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from threading import Lock
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

QUANTILES: Final = (0.0, 0.5, 0.9, 0.99, 1.0)
_N_REMEMBERED: Final = 1_000


class RecentValues:
    """One series: the last values, and the sum and number of all."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=_N_REMEMBERED)
        self._sum = 0.0
        self._n = 0
        self._lock = Lock()  # a scrape may run on another thread

    def observe(self, amount: float) -> None:
        """Take down one value."""
        with self._lock:
            self._last.append(amount)
            self._sum += amount
            self._n += 1

    def read(self) -> tuple[list[float], float, int]:
        """The last values in order, the sum and the number of all."""
        with self._lock:
            return sorted(self._last), self._sum, self._n


class Summary(Collector):
    """A summary with quantiles. `observe` is for one without labels, `labels` for others."""

    def __init__(
        self, name: str, documentation: str, labelnames: Iterable[str], registry: CollectorRegistry
    ) -> None:
        self._name = name
        self._documentation = documentation
        self.label_names = tuple(labelnames)
        self._series: dict[tuple[str, ...], RecentValues] = {}
        if not self.label_names:
            self._series[()] = RecentValues()
        registry.register(self)

    def labels(self, **values: str) -> RecentValues:
        """The series with these labels."""
        if set(values) != set(self.label_names):
            message = f"{self._name} has the labels {self.label_names}, not {tuple(values)}"
            raise ValueError(message)
        return self._series.setdefault(
            tuple(values[label_name] for label_name in self.label_names), RecentValues()
        )

    def observe(self, amount: float) -> None:
        """Take down one value, where there are no labels."""
        self._series[()].observe(amount)

    def collect(self) -> Iterable[Metric]:
        """Everything observed so far, for a scrape."""
        metric = Metric(self._name, self._documentation, "summary")
        for values, observed in tuple(self._series.items()):
            named = dict(zip(self.label_names, values, strict=True))
            last, total, n = observed.read()
            for quantile, amount in _quantiles(last):
                metric.add_sample(self._name, {**named, "quantile": f"{quantile:g}"}, amount)
            _add(metric, named, total, n)
        yield metric


def _add(metric: Metric, named: Mapping[str, str], total: float, n: int) -> None:
    metric.add_sample(f"{metric.name}_sum", dict(named), total)
    metric.add_sample(f"{metric.name}_count", dict(named), n)


def _quantiles(ordered: list[float]) -> Iterator[tuple[float, float]]:
    for quantile in QUANTILES if ordered else ():
        yield quantile, ordered[round(quantile * (len(ordered) - 1))]


_MINUTE: Final = 60.0
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def doubling(first: float, n_bounds: int) -> tuple[float, ...]:
    """So many bounds, each twice the one before."""
    return tuple(first * 2**power for power in range(n_bounds))


_BELOW_A_SECOND: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
_SECONDS: Final = (
    0.6,
    0.7,
    0.8,
    0.9,
    1,
    1.25,
    1.5,
    1.75,
    2,
    2.5,
    3,
    3.5,
    4,
    4.5,
    5,
    6,
    7,
    8,
    9,
    10,
)
_MINUTES: Final = (15, 20, 25, 30, 40, 50, 60, 120, 150, 300, 450, 600)

DURATIONS: Final[tuple[float, ...]] = (*_BELOW_A_SECOND, *_SECONDS, *_MINUTES)
# What a Prometheus client takes when nothing is said, and what the reference did not say.
DEFAULT: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
REQUESTS: Final = tuple(0.001 * 1.5**power for power in range(20))
INSTANCE_TERMINATION: Final = doubling(1, 11)
CLAIM_TERMINATION: Final = doubling(1, 12)
CONDITIONS: Final = doubling(0.5, 15)
SCORES: Final = (0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10)
LIFETIMES: Final = (
    *(n * _MINUTE for n in (15, 30, 45)),
    *(n * _HOUR for n in (1, 2, 4, 6, 8, 10, 12, 16, 20)),
    *(n * _DAY for n in (1, 2, 3, 5, 10, 15, 20, 25, 30)),
)
