"""A price per node, by flag and by annotation, and price against nodes."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

from dovetail.cli import main

POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: default, annotations: {{{said}}}}}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}}
      requirements: [{{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 9
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: c, resources: {{requests: {{cpu: 1500m, memory: 2Gi}}}}}}]}}
"""


def plan(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], said: str, *flags: str
) -> dict[str, Any]:
    """The plan for a pool with these annotations."""
    text = POOL.format(said=said)
    held = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", held)
    code = main(["plan", "-f", "-", "-o", "json", *flags])
    out, err = capsys.readouterr()
    return json.loads(out) if code == 0 else {"code": code, "err": err}


def test_the_flag_buys_fewer_nodes_and_the_pool_overrules_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prices that are shown are the provider's; the sum with node prices is no higher."""
    free = plan(monkeypatch, capsys, "")
    dear = plan(monkeypatch, capsys, "", "--node-price", "0.5")
    n_free, n_dear = len(free["nodeClaims"]), len(dear["nodeClaims"])
    assert n_dear < n_free
    cost = dear["cost"]
    assert cost["newPerHour"] == pytest.approx(
        sum(one["pricePerHour"] for one in dear["nodeClaims"])
    )
    assert cost["nodePricePerHour"] == pytest.approx(0.5 * n_dear)
    whole = cost["newPerHour"] + cost["nodePricePerHour"]
    assert whole <= free["cost"]["newPerHour"] + 0.5 * n_free
    assert 0 < cost["lowerBoundWithNodesPerHour"] <= whole + 1e-9
    assert 0 < cost["lowerBoundPerHour"] <= cost["newPerHour"] + 1e-9
    spared = plan(monkeypatch, capsys, 'dovetail.sh/node-price: "0"', "--node-price", "0.5")
    assert len(spared["nodeClaims"]) == n_free
    assert "nodePricePerHour" not in spared["cost"]


@pytest.mark.parametrize("said", ["-1", "cheap", "1001"])
def test_a_price_that_makes_no_sense_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    """With document, field and what was expected."""
    by_flag = plan(monkeypatch, capsys, "", "--node-price", said)
    assert by_flag["code"] == 2
    assert "--node-price" in by_flag["err"]
    by_pool = plan(monkeypatch, capsys, f'dovetail.sh/node-price: "{said}"')
    assert by_pool["code"] == 2
    for part in ("document 1", "metadata.annotations.dovetail.sh/node-price", "expected"):
        assert part in by_pool["err"]


def test_the_frontier_stands_beside_the_plan(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cheapest first; the price that a choice names leads to it."""
    shown = plan(monkeypatch, capsys, "", "--frontier")
    points = shown["frontier"]
    assert points[0]["aboveCheapest"] == 0.0
    assert [one["nodes"] for one in points] == sorted(
        {one["nodes"] for one in points}, reverse=True
    )
    assert "frontier" not in plan(monkeypatch, capsys, "")
    fewest = points[-1]
    assert fewest["bestFromNodePrice"] is not None
    price = f"{fewest['bestFromNodePrice'] + 0.000001:.6f}"
    chosen = plan(monkeypatch, capsys, "", "--node-price", price)
    assert len(chosen["nodeClaims"]) == fewest["nodes"]
