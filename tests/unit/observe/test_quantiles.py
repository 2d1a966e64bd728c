"""Quantiles are those of what was observed last."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from dovetail.observe.quantiles import Summary


def test_quantiles_are_of_the_last_thousand_and_sums_of_all() -> None:
    """Memory is bounded, counters are not."""
    registry = CollectorRegistry()
    summary = Summary("x_seconds", "Some.", ("pool",), registry)
    for _ in range(5_000):
        summary.labels(pool="a").observe(1_000_000)
    for amount in range(1, 1_001):
        summary.labels(pool="a").observe(amount)
    quantiles = {
        quantile: registry.get_sample_value("x_seconds", {"pool": "a", "quantile": quantile})
        for quantile in ("0", "0.5", "0.9", "0.99", "1")
    }
    assert quantiles == {"0": 1, "0.5": 501, "0.9": 900, "0.99": 990, "1": 1_000}
    assert registry.get_sample_value("x_seconds_count", {"pool": "a"}) == 6_000


def test_labels_that_it_does_not_have_are_refused() -> None:
    """A slip in a label shows at once."""
    summary = Summary("x_seconds", "Some.", ("pool",), CollectorRegistry())
    with pytest.raises(ValueError, match="has the labels"):
        summary.labels(nodepool="a")
