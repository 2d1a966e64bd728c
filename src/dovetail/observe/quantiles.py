"""Computes quantiles of recent observations, as a Prometheus summary.

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
