"""NodeClaims for planned nodes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dovetail import api, labels
from dovetail.controllers.launching.claim_creation import claim_body, overlay_marks
from dovetail.model.plan import Launch
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.model.requirements import requirement
from dovetail.model.taints import Taint
from dovetail.testing.builders import instance_type

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KWOK = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")
POOL = NodePool(
    "general",
    node_class=KWOK,
    uid="u-1",
    requirements=(
        requirement(labels.ARCH, "In", ("amd64", "arm64"), None),
        requirement("team", "Exists", (), None),
        requirement(labels.INSTANCE_TYPE, "Exists", (), 2),
    ),
    labels={"env": "prod"},
    annotations={"note": "any"},
    taints=(Taint("gpu", "yes", "NoSchedule"),),
    startup_taints=(Taint("starting", "", "NoExecute"),),
    termination_grace_period=timedelta(hours=1),
)
LAUNCH = Launch(
    name="general-7-1",
    node_pool="general",
    instance_type="c-2x",
    zone="a",
    capacity_type="spot",
    price_nanousd=1,
    instance_types=("c-2x", "m-2x"),
    requests={"cpu": 1500, "memory": 2**30, "pods": 3},
    pods=("default/web-0",),
    labels={"team": "blue", labels.ARCH: "amd64", "env": "prod"},
    requirements=(
        requirement(labels.INSTANCE_TYPE, "In", ("c-2x", "m-2x"), None),
        requirement(labels.CAPACITY_TYPE, "In", ("spot",), None),
        requirement(labels.ZONE, "In", ("a",), None),
    ),
)


def made(launch: Launch = LAUNCH, pool: NodePool = POOL) -> Any:
    """The claim as JSON has it."""
    hashes = {labels.NODE_POOL_HASH: "42", labels.NODE_POOL_HASH_VERSION: "v3"}
    return msgspec.json.decode(msgspec.json.encode(claim_body(launch, pool, hashes)))


def test_a_claim_breaks_no_rule_of_its_kind() -> None:
    """As the API server will judge it."""
    assert api.problems(api.decode(api.NodeClaim, made())) == []


def test_a_claim_says_whose_it_is() -> None:
    """By labels, and by an owner whose deletion waits for it."""
    metadata = made()["metadata"]
    assert metadata["labels"] == {
        "env": "prod",
        "karpenter.kwok.sh/kwoknodeclass": "default",
        "karpenter.sh/nodepool": "general",
        "team": "blue",
    }
    assert metadata["finalizers"] == [labels.TERMINATION_FINALIZER]
    owner = metadata["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["blockOwnerDeletion"]) == ("NodePool", "u-1", True)
    assert metadata["annotations"] == {
        "karpenter.sh/nodepool-hash": "42",
        "karpenter.sh/nodepool-hash-version": "v3",
        "note": "any",
    }


def test_a_claim_asks_for_what_pool_and_pods_both_allow() -> None:
    """minValues of the pool stay with the types that would do."""
    lines = {one["key"]: one for one in made()["spec"]["requirements"]}
    types = lines[labels.INSTANCE_TYPE]
    assert (types["values"], types["minValues"]) == (["c-2x", "m-2x"], 2)
    assert lines[labels.ARCH]["values"] == ["amd64", "arm64"]
    assert lines[labels.ZONE]["values"] == ["a"]
    assert lines["team"]["operator"] == "Exists"


def test_a_claim_carries_what_its_node_must_get() -> None:
    """Taints, and how long it may live and take to end."""
    spec = made()["spec"]
    assert spec["taints"] == [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    assert spec["startupTaints"] == [{"key": "starting", "effect": "NoExecute"}]
    assert (spec["expireAfter"], spec["terminationGracePeriod"]) == ("720h0m0s", "1h0m0s")
    assert spec["resources"]["requests"] == {"cpu": "1500m", "memory": "1Gi", "pods": "3"}


@pytest.mark.parametrize(("is_relaxed", "want"), [(True, "true"), (False, None)])
def test_a_claim_tells_when_min_values_gave_way(want: str | None, *, is_relaxed: bool) -> None:
    """So that drift does not take it for a mistake."""
    launch = msgspec.structs.replace(LAUNCH, is_min_values_relaxed=is_relaxed)
    assert made(launch)["metadata"]["annotations"].get(labels.MIN_VALUES_RELAXED) == want


def test_nodes_that_never_expire_say_so() -> None:
    """The default would be thirty days."""
    pool = msgspec.structs.replace(POOL, expire_after=None)
    assert made(pool=pool)["spec"]["expireAfter"] == "Never"


@pytest.mark.parametrize(
    ("has_price", "has_capacity", "want"),
    [
        pytest.param(False, False, set(), id="as the cloud says"),
        pytest.param(True, False, {"karpenter.sh/price-overlay-applied"}, id="another price"),
        pytest.param(False, True, {"karpenter.sh/capacity-overlay-applied"}, id="more of it"),
    ],
)
def test_what_overlays_did_to_a_type_is_marked_on_its_claims(
    has_price: bool,  # noqa: FBT001  a table's column
    has_capacity: bool,  # noqa: FBT001  a table's column
    want: set[str],
) -> None:
    """Only where the claim may be launched as that type."""
    plain = instance_type("c-2x", price=1)
    kind = msgspec.structs.replace(
        plain,
        is_overlaid=has_capacity,
        offerings=tuple(
            msgspec.structs.replace(one, is_overlaid=has_price) for one in plain.offerings
        ),
    )
    assert overlay_marks(LAUNCH, [kind]) == dict.fromkeys(want, "true")
    assert overlay_marks(LAUNCH, [msgspec.structs.replace(kind, name="another")]) == {}
