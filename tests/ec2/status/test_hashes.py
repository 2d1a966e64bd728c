"""The static drift hash on classes and claims, and what a change of its rules does."""

from __future__ import annotations

import pytest

from dovetail.kube.seam import Json, Patch, Ref
from dovetail.providers.aws.node_class.hashing import HASH_VERSION, node_class_hash
from dovetail.providers.aws.status.objects import NODE_CLAIM
from dovetail.providers.aws.status.patches import HASH, HASH_VERSION_KEY
from tests.ec2.setting import Aws
from tests.ec2.status.bench import SETTINGS, NodeClassBench, node_class_bench

pytestmark = pytest.mark.xdist_group("ec2")
OLD = {HASH: "1", HASH_VERSION_KEY: "v1"}


async def hash_of(bench: NodeClassBench) -> str:
    """The hash of the class `default`."""
    bundle = SETTINGS.cluster_ca_bundle
    return node_class_hash(await bench.node_class(), family="AL2023", ca_bundle=bundle)


async def drift(bench: NodeClassBench, claim: str) -> None:
    """Let a claim have drifted."""
    condition: Json = {
        "type": "Drifted",
        "status": "True",
        "reason": "NodeClassDrift",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    patch = Patch(body={"status": {"conditions": [condition]}}, subresource="status")
    await bench.kube.patch(Ref(NODE_CLAIM, claim), patch)


async def test_a_class_is_stamped_with_its_hash_and_again_when_it_changes(aws: Aws) -> None:
    """Claims keep theirs: that is what makes them drift."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        first = await hash_of(bench)
        annotations = {HASH: first, HASH_VERSION_KEY: HASH_VERSION}
        assert (await bench.node_class()).metadata.annotations == annotations
        await bench.create_claim("default-1", annotations=annotations)
        await bench.change(tags={"team": "a"})
        await bench.look()
        second = await hash_of(bench)
        assert second != first
        assert (await bench.node_class()).metadata.annotations[HASH] == second
        assert (await bench.claim("default-1")).metadata.annotations[HASH] == first


async def test_other_rules_of_hashing_drift_nothing(aws: Aws) -> None:
    """Class and claims are stamped anew; a claim that has drifted already stays drifted."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.annotate(**OLD)
        for name in ("current", "drifted", "new"):
            await bench.create_claim(name, annotations=OLD)
        await bench.create_claim("elsewhere", "other", annotations=OLD)
        await drift(bench, "drifted")
        await bench.look()
        hashed = await hash_of(bench)
        want = {HASH: hashed, HASH_VERSION_KEY: HASH_VERSION}
        assert (await bench.node_class()).metadata.annotations == want
        assert (await bench.claim("current")).metadata.annotations == want
        assert (await bench.claim("drifted")).metadata.annotations == {**want, HASH: "1"}
        assert (await bench.claim("elsewhere")).metadata.annotations == OLD
