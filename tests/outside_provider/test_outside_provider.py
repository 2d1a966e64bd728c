"""A provider of another package is found, launched with, drifted and interrupted."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from dovetail import api
from dovetail.cli import main
from dovetail.cloud import registry
from dovetail.cloud.plugin import ProviderPlugin
from dovetail.kube.errors import InvalidError
from dovetail.kube.seam import Json
from dovetail.testing import plugin_conformance

if TYPE_CHECKING:
    from tests.outside_provider.world import OutsideWorld

ROOT = Path(__file__).parents[2]
MANIFESTS = """
apiVersion: karpenter.meadow.example/v1
kind: MeadowNodeClass
metadata: {name: default}
spec: {image: spring, cpus: %s}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: pasture}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.meadow.example, kind: MeadowNodeClass, name: default}
      requirements: [{key: "karpenter.meadow.example/%s", operator: Exists}]
---
apiVersion: v1
kind: Pod
metadata: {name: sheep, namespace: default}
spec:
  containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
"""


def made(name: str) -> OutsideWorld:
    """A world of its own, once the provider is installed."""
    from tests.outside_provider.world import OutsideWorld

    return OutsideWorld(name)


def test_nothing_of_dovetail_knows_it() -> None:
    """Not one line."""
    sources = (ROOT / "src").rglob("*.py")
    assert [path.name for path in sources if "meadow" in path.read_text(encoding="utf-8")] == []


def test_it_is_found() -> None:
    """By its entry point, beside the built-in ones."""
    assert registry.names() == ("aws", "kwok", "meadow")


@pytest.mark.parametrize("law", plugin_conformance.LAWS, ids=lambda law: law.__name__)
def test_its_plugin_obeys(law: plugin_conformance.PluginLaw) -> None:
    """The laws of all plugins."""
    law(registry.load("meadow"))


async def test_a_node_is_launched_for_a_pending_pod() -> None:
    """It joins, is registered and takes the pod; its labels are those of the provider."""
    from tests.outside_provider.world import living

    async with living(made("launch")) as world:
        await world.set_up()
        await world.pod("sheep")
        await world.pass_(30)
        (claim,) = await world.claims()
        assert await world.pods() == {"sheep": claim.metadata.name}
        assert claim.metadata.labels["karpenter.meadow.example/cpus"] == "2"
        conditions = {one.type: one.status for one in claim.status.conditions}
        assert conditions["Initialized"] == "True"
        assert list(world.region.machines) == [claim.status.provider_id]


async def test_a_node_that_drifted_is_replaced() -> None:
    """The node class has another image, so the provider calls the machine drifted."""
    from tests.outside_provider.world import living

    async with living(made("drift")) as world:
        await world.set_up()
        await world.pod("sheep")
        await world.pass_(30)
        (before,) = await world.claims()
        await world.patch(world.node_class, "default", {"spec": {"image": "summer"}})
        await world.pass_(600)
        (after,) = await world.claims()
        assert after.metadata.name != before.metadata.name
        assert [one.image for one in world.region.machines.values()] == ["summer"]
        assert await world.pods() == {"sheep": after.metadata.name}


async def test_an_interrupted_node_is_drained_and_replaced_whatever_protects_it() -> None:
    """Neither a budget of zero nor do-not-disrupt keeps it; what is announced again and again is
    acted upon once.
    """
    from tests.outside_provider.world import living

    async with living(made("flood")) as world:
        await world.set_up()
        budgets: Json = {"budgets": [{"nodes": "0"}]}
        await world.patch(_pool_kind(), "pasture", {"spec": {"disruption": budgets}})
        await world.pod("sheep")
        await world.pass_(30)
        (before,) = await world.claims()
        kept: Json = {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}
        await world.patch(api.KINDS["", "Node"], before.metadata.name, {"metadata": kept})
        at = world.time.now() + timedelta(minutes=2)
        world.region.interruptions[before.status.provider_id] = at
        await world.pass_(3)
        snapshot, _ = world.replica.view()
        assert [one.at for one in snapshot.ledger.endings] == [at]
        await world.pass_(90)
        (after,) = await world.claims()
        assert after.metadata.name != before.metadata.name
        assert await world.pods() == {"sheep": after.metadata.name}
        assert list(world.region.machines) == [after.status.provider_id]
        told = await world.told()
        assert {("NodeClaim", "MeadowFlooded"), ("Node", "MeadowFlooded")} <= told
        metrics = b"".join(world.replica.scrape()).decode()
        assert 'reason="meadow_flooded"' in metrics
        snapshot, _ = world.replica.view()
        assert snapshot.ledger.endings == ()


async def test_nodes_that_are_interrupted_at_once_are_replaced_by_one_decision() -> None:
    """And none of them is drained before that decision is carried out."""
    from tests.outside_provider.world import living

    async with living(made("deluge")) as world:
        await world.set_up()
        for number in range(6):  # two on each node, or four
            await world.pod(f"sheep-{number}")
        await world.pass_(30)
        before = await world.claims()
        first = {claim.metadata.name for claim in before}
        assert len(first) > 1
        at = world.time.now() + timedelta(minutes=2)
        for claim in before:
            world.region.interruptions[claim.status.provider_id] = at
        await world.pass_(4)
        launched = {claim.metadata.name for claim in await world.claims()} - first
        assert len({name.rpartition("-")[0] for name in launched}) == 1
        await world.pass_(90)
        after = {claim.metadata.name for claim in await world.claims()}
        assert after == launched
        assert set((await world.pods()).values()) <= after


async def test_an_end_that_is_far_away_is_known_but_not_acted_upon() -> None:
    """Fifteen minutes before, what replaces the node is launched; ten before, it is drained."""
    from tests.outside_provider.world import living

    async with living(made("tide")) as world:
        await world.set_up()
        await world.pod("sheep")
        await world.pass_(30)
        (before,) = await world.claims()
        begun_at = world.time.now()
        world.region.interruptions[before.status.provider_id] = begun_at + timedelta(minutes=20)
        await world.pass_(290)
        assert [one.metadata.name for one in await world.claims()] == [before.metadata.name]
        assert ("Node", "MeadowFlooded") in await world.told()
        await world.pass_(60)
        claims = {one.metadata.name: one for one in await world.claims()}
        assert len(claims) == 2
        assert claims[before.metadata.name].metadata.deletion_timestamp is None
        assert await world.pods() == {"sheep": before.metadata.name}
        await world.pass_(300)
        (after,) = await world.claims()
        assert after.metadata.name != before.metadata.name
        assert await world.pods() == {"sheep": after.metadata.name}


async def test_a_pod_that_is_protected_stays_until_there_is_no_time_left() -> None:
    """Then it is deleted, with its whole grace period to end in."""
    from tests.outside_provider.world import living

    async with living(made("ebb")) as world:
        await world.set_up()
        await world.pod("sheep", annotations={"karpenter.sh/do-not-disrupt": "true"})
        await world.pass_(30)
        (before,) = await world.claims()
        at = world.time.now() + timedelta(minutes=2)
        world.region.interruptions[before.status.provider_id] = at
        await world.pass_(85)
        assert await world.pods() == {"sheep": before.metadata.name}
        await world.pass_(10)
        assert await world.pods() != {"sheep": before.metadata.name}
        await world.pass_(60)
        (after,) = await world.claims()
        assert await world.pods() == {"sheep": after.metadata.name}


async def test_a_restarted_controller_learns_of_an_interruption_again() -> None:
    """The provider repeats what it can still find out."""
    from tests.outside_provider.world import living

    world = made("restart")
    async with living(world):
        await world.set_up()
        await world.pod("sheep")
        await world.pass_(30)
    (before,) = await world.claims()
    world.region.interruptions[before.status.provider_id] = world.time.now()
    async with living(world):
        await world.pass_(90)
        (after,) = await world.claims()
        assert after.metadata.name != before.metadata.name


async def test_the_api_server_in_memory_holds_its_rules() -> None:
    """Those of its node class, and those for requirements. What only a program can tell is stored,
    as by a real server; `dovetail validate` reports it.
    """
    world = made("rules")
    with pytest.raises(InvalidError, match=r"spec\.image"):
        await world.make(world.node_class, "default", {"image": "", "cpus": [2]})
    await world.make(world.node_class, "default", {"image": "spring", "cpus": [2, 2]})
    ref: Json = {"group": world.node_class.group, "kind": world.node_class.name, "name": "x"}
    wool: Json = {"key": "karpenter.meadow.example/wool", "operator": "Exists"}
    template: Json = {"spec": {"nodeClassRef": ref, "requirements": [wool]}}
    with pytest.raises(InvalidError, match="no meadow node has such a label"):
        await world.make(_pool_kind(), "pasture", {"template": template})


def test_plans_are_made_with_the_node_class_of_the_manifests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`dovetail plan -f` has its instance types as the node class allows them."""
    path = tmp_path / "meadow.yaml"
    path.write_text(MANIFESTS % ("[8]", "cpus"))
    assert main(["plan", "-f", str(path), "-o", "json"]) == 0
    (launch,) = json.loads(capsys.readouterr().out)["nodeClaims"]
    assert launch["instanceType"] == "meadow-8"


@pytest.mark.parametrize(
    ("cpus", "label", "problem"),
    [
        pytest.param("[2, 2]", "cpus", "spec.cpus: has a size twice", id="a rule of the object"),
        pytest.param("[]", "wool", "no meadow node has such a label", id="a label of its domain"),
        pytest.param("[two]", "cpus", "spec.cpus", id="another type"),
    ],
)
def test_manifests_are_validated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cpus: str, label: str, problem: str
) -> None:
    """`dovetail validate` knows the provider's rules."""
    path = tmp_path / "meadow.yaml"
    path.write_text(MANIFESTS % (cpus, label))
    assert main(["validate", "-f", str(path)]) != 0
    captured = capsys.readouterr()
    assert problem in captured.out + captured.err


@pytest.mark.parametrize(
    ("argv", "want"),
    [
        pytest.param(["run", "--provider", "meadow", "--help"], "--meadow-region", id="flags"),
        pytest.param(["crds", "--provider", "meadow"], "kind: MeadowNodeClass", id="definitions"),
        pytest.param(["crds"], "meadownodeclasses.karpenter", id="definitions of all"),
        pytest.param(
            ["install", "--dry-run", "--provider", "meadow"], "dovetail-meadow", id="rights"
        ),
        pytest.param(["catalog", "--catalog", "meadow"], "Prices of the meadow", id="catalogue"),
    ],
)
def test_commands_show_what_it_brings(
    capsys: pytest.CaptureFixture[str], argv: list[str], want: str
) -> None:
    """Flags, definitions, rights and catalogue."""
    assert main(argv) == 0
    assert want in capsys.readouterr().out


def test_its_flags_belong_to_it_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """With another provider they are refused, with what to do."""
    assert main(["run", "--provider", "kwok", "--meadow-region", "south"]) == 2
    said = capsys.readouterr().err
    assert "--meadow-region is a flag of provider 'meadow', and --provider is 'kwok'" in said


def _pool_kind() -> api.Kind:
    return api.KINDS["karpenter.sh", "NodePool"]


def test_its_settings_reach_it_typed() -> None:
    """As the struct that it declares."""
    plugin: ProviderPlugin[None, msgspec.Struct] = registry.load("meadow")
    assert type(plugin.settings.defaults).__name__ == "MeadowSettings"
