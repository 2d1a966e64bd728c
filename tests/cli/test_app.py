"""How the parts of an offline plan are put together."""

from __future__ import annotations

import gc
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dovetail import app, labels
from dovetail.errors import InputError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  template:
    spec:
      nodeClassRef: {{group: {group}, kind: {kind}, name: default}}
      requirements: []
"""
GENERIC = POOL.format(name="grid", group=labels.KWOK_GROUP, kind="KWOKNodeClass")
AWS = POOL.format(name="cloud", group=labels.AWS_GROUP, kind="EC2NodeClass")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers: [{name: main, resources: {requests: {cpu: 100m}}}]
"""
OVERLAY = """\
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {{name: {name}}}
spec:
  weight: 1
  requirements: [{{key: karpenter.sh/nodepool, operator: In, values: [grid]}}]
  price: "{price}"
"""
SCENARIO = """\
because: One pod needs one node.
given:
  pods: [{name: web}]
want:
  nodes: 1
"""


def planned(*documents: str, catalogue: str = "") -> app.Planned:
    """The plan for these documents, read from standard input."""
    request = app.PlanRequest(sources=("-",), catalogue=catalogue, now=NOW)
    stages: list[str] = []
    stdin = io.BytesIO("---\n".join(documents).encode())
    made = app.plan_from(request, stdin=stdin, tell=stages.append)
    assert stages[0] == "reading manifests"
    return made


def test_each_pool_gets_the_catalogue_of_its_node_class() -> None:
    """An EC2NodeClass means aws, anything else generic, also side by side."""
    types = planned(GENERIC, AWS).snapshot.instance_types
    assert {one.name for one in types["grid"]} == {
        one.name for one in app.instance_types("generic")
    }
    assert {one.name for one in types["cloud"]} == {one.name for one in app.instance_types("aws")}


def test_a_named_catalogue_holds_for_every_pool(tmp_path: Path) -> None:
    """Whatever their node classes say; a file works like a name."""
    path = tmp_path / "types.json"
    few = app.instance_types("generic")[:3]
    path.write_text(app.catalogue_text(few), encoding="utf-8")
    types = planned(GENERIC, AWS, catalogue=str(path)).snapshot.instance_types
    assert types["grid"] == types["cloud"]
    assert {one.name for one in types["grid"]} == {one.name for one in few}


def test_a_bad_catalogue_is_refused_even_when_no_pool_needs_it() -> None:
    """A typing error in a flag is never passed over."""
    with pytest.raises(InputError, match="no-such-types"):
        planned(POD, catalogue="no-such-types")


def test_overlays_change_prices_before_planning() -> None:
    """What the plan pays is what the overlay says."""
    made = planned(GENERIC, POD, OVERLAY.format(name="flat", price="0.5"))
    (launch,) = made.plan.launches
    assert launch.price_nanousd == 500_000_000
    assert made.remarks == ()


def test_overlays_that_clash_are_left_out_and_said_so() -> None:
    """Two of one weight for one offering: the later is not used."""
    made = planned(
        GENERIC,
        POD,
        OVERLAY.format(name="flat-a", price="0.5"),
        OVERLAY.format(name="flat-b", price="0.7"),
    )
    (launch,) = made.plan.launches
    assert launch.price_nanousd == 700_000_000
    (remark,) = made.remarks
    assert "flat-a" in remark


def test_synthetic_prices_are_noted_only_where_they_count() -> None:
    """Spot of the aws catalogue; the generic grid needs no note."""
    assert any("synthetic" in note for note in planned(AWS, POD).notes)
    assert planned(GENERIC, POD).notes == ()


def test_a_scenario_is_planned_at_its_own_time_and_alone() -> None:
    """The same file is a test and an input of `plan`."""
    assert len(planned(SCENARIO).plan.launches) == 1
    with pytest.raises(InputError, match="only input"):
        planned(SCENARIO, POD)


def test_other_kinds_are_counted() -> None:
    """By kind, with their number."""
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}}}\n"
    (remark,) = planned(POD, config.format("a"), config.format("b")).remarks
    assert "Skipped 2 objects" in remark
    assert "ConfigMap (2)" in remark


def test_the_collector_is_left_as_it_was_found() -> None:
    """Also after bad input."""
    assert gc.isenabled()
    planned(POD)
    with pytest.raises(InputError):
        planned("kind: [")
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
