"""Machine images of node classes, as SSM and EC2 know them."""

from __future__ import annotations

import pytest

from dovetail.kube.seam import Json
from tests.ec2.setting import Aws
from tests.ec2.status.bench import NodeClassBench, node_class_bench

pytestmark = pytest.mark.xdist_group("ec2")


async def found(bench: NodeClassBench, *terms: Json) -> list[str]:
    """The names of the images that the terms select, in the order of the status."""
    await bench.create(amiSelectorTerms=[*terms], amiFamily="AL2023")
    await bench.look()
    return [ami.name for ami in (await bench.node_class()).status.amis]


ALIASES = {
    "al2023@latest": 5,
    "al2023@v20251201": 5,
    "bottlerocket@latest": 5,
    "bottlerocket@v1.50.0": 5,
    "windows2019@latest": 1,
    "windows2022@latest": 1,
    "windows2025@latest": 1,
}


@pytest.mark.parametrize("alias", ALIASES)
async def test_an_alias_selects_the_images_of_the_cluster_s_version(aws: Aws, alias: str) -> None:
    """One for each architecture and variant; a Bottlerocket image is for Neuron, too."""
    async with node_class_bench(aws) as bench:
        await bench.create(amiSelectorTerms=[{"alias": alias}])
        await bench.look()
        images = (await bench.node_class()).status.amis
        assert len(images) == ALIASES[alias]
        assert all("1.35" in ami.name for ami in images)
        assert (await bench.condition("Ready")).status == "True"


async def test_parameters_that_are_missing_are_tolerated_if_others_are_there(aws: Aws) -> None:
    """A region may lack the image of a variant; if all are missing, the condition names them."""
    async with node_class_bench(aws) as bench:
        folder = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023"
        paths = [
            f"{folder}/{architecture}/{variant}/recommended/image_id"
            for architecture, variants in (
                ("x86_64", ("standard", "nvidia", "neuron")),
                ("arm64", ("standard", "nvidia")),
            )
            for variant in variants
        ]
        for path in paths[1:]:
            bench.control.set_image_parameter(path, None)
        await bench.create()
        await bench.look()
        assert len((await bench.node_class()).status.amis) == 1
        bench.control.set_image_parameter(paths[0], None)
        await bench.create("other")
        bench.started_anew()
        await bench.look("other")
        got = await bench.condition("AMIsReady", "other")
        assert (got.status, got.reason) == ("False", "AMINotFound")
        assert [path for path in paths if path not in got.message] == []


async def test_a_name_means_our_own_images_and_those_of_amazon(aws: Aws) -> None:
    """An owner means that owner's alone; tags mean anybody's."""
    async with node_class_bench(aws) as bench:
        bench.control.add_image("team-ours", architecture="x86_64")
        bench.control.add_image("team-amazons", architecture="arm64", owner="amazon")
        bench.control.add_image(
            "team-theirs", owner="999999999999", created_at="2025-12-31T12:00:00+00:00"
        )
        assert sorted(await found(bench, {"name": "team-*"})) == ["team-amazons", "team-ours"]
        await bench.change(amiSelectorTerms=[{"name": "team-*", "owner": "999999999999"}])
        await bench.look()
        images = (await bench.node_class()).status.amis
        assert [ami.name for ami in images] == ["team-theirs"]


async def test_terms_are_added_up_and_the_newest_image_of_each_kind_counts(aws: Aws) -> None:
    """By id, tags and SSM parameter at once."""
    async with node_class_bench(aws) as bench:
        control = bench.control
        old = control.add_image("old", created_at="2025-11-01T00:00:00+00:00")
        control.add_image("new", created_at="2025-12-01T00:00:00+00:00", tags={"team": "a"})
        arm = control.add_image("arm", architecture="arm64", created_at="2025-11-15T00:00:00+00:00")
        control.set_image_parameter("/mine", arm)
        names = await found(bench, {"id": old}, {"tags": {"team": "*"}}, {"ssmParameter": "/mine"})
        assert names == ["new", "arm"]


async def test_a_deprecated_image_is_used_and_flagged_where_there_is_no_other(aws: Aws) -> None:
    """The condition holds, and says so."""
    async with node_class_bench(aws) as bench:
        image = bench.control.add_image("late", owner="amazon")
        bench.control.deprecate_image(image)
        assert await found(bench, {"name": "late"}) == ["late"]
        assert [ami.deprecated for ami in (await bench.node_class()).status.amis] == [True]
        got = await bench.condition("AMIsReady")
        assert (got.status, got.message) == ("True", f"deprecated: {image}")
