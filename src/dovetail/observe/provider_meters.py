"""Holds the metrics that a provider's plugin names, beside those of every controller."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram

from dovetail.cloud.meters import ProviderMetric
from dovetail.observe.meters import PREFIX


class ProviderSeries:
    """What a provider counts, by name."""

    def __init__(self, metrics: Iterable[ProviderMetric], registry: CollectorRegistry) -> None:
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        for metric in metrics:
            full = f"{PREFIX}{metric.name}"
            if metric.buckets:
                self._histograms[metric.name] = Histogram(
                    full, metric.help, metric.labels, buckets=metric.buckets, registry=registry
                )
            else:
                self._counters[metric.name] = Counter(
                    full, metric.help, metric.labels, registry=registry
                )

    def count(self, name: str, /, **labels: str) -> None:
        """Count one more."""
        counter = self._counters[name]
        (counter.labels(**labels) if labels else counter).inc()

    def observe(self, name: str, seconds: float, /, **labels: str) -> None:
        """Something took so long."""
        histogram = self._histograms[name]
        (histogram.labels(**labels) if labels else histogram).observe(seconds)
