"""The life of instance profiles: created for a role, kept for an hour, collected."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dovetail.providers.aws.status.profiles.names import PROFILE_ANNOTATION
from tests.ec2.setting import Aws
from tests.ec2.status.bench import CLUSTER, ROLE, NodeClassBench, node_class_bench

pytestmark = pytest.mark.xdist_group("ec2")
READY = "InstanceProfileReady"


async def profile_of(bench: NodeClassBench) -> str:
    """The profile in the status of the class."""
    return (await bench.node_class()).status.instance_profile


async def test_a_profile_is_made_for_the_role_below_the_path_of_the_class(aws: Aws) -> None:
    """Its tags tell to which cluster and class it belongs; those of the user come along."""
    async with node_class_bench(aws) as bench:
        await bench.create(role=f"team/a/{ROLE}", tags={"team": "a"})
        await bench.look()
        name = await profile_of(bench)
        found = await bench.node_class()
        answer = bench.aws.clients["iam"].get_instance_profile(InstanceProfileName=name)
        profile = answer["InstanceProfile"]
        assert name.startswith(f"{CLUSTER}_")
        assert profile["Path"] == f"/karpenter/us-west-2/{CLUSTER}/{found.metadata.uid}/"
        assert [role["RoleName"] for role in profile["Roles"]] == [ROLE]
        assert {tag["Key"]: tag["Value"] for tag in profile["Tags"]} == {
            "eks:eks-cluster-name": CLUSTER,
            f"kubernetes.io/cluster/{CLUSTER}": "owned",
            "karpenter.k8s.aws/ec2nodeclass": "default",
            "topology.kubernetes.io/region": "us-west-2",
            "team": "a",
        }


async def test_iam_is_asked_for_a_profile_once_in_a_quarter_of_an_hour(aws: Aws) -> None:
    """What exists is believed for 15 minutes, then looked at once."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        await bench.advance(timedelta(minutes=14))
        await bench.look()
        assert bench.actions("GetInstanceProfile", "CreateInstanceProfile") == [
            "GetInstanceProfile",
            "CreateInstanceProfile",
        ]
        await bench.advance(timedelta(minutes=1))
        await bench.look()
        assert bench.actions("GetInstanceProfile") == ["GetInstanceProfile"] * 2
        assert list(bench.profiles()) == [await profile_of(bench)]


async def test_another_role_gets_another_profile_and_the_old_one_is_kept_for_an_hour(
    aws: Aws,
) -> None:
    """Nodes that were just launched still need the old one."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        old = await profile_of(bench)
        await bench.change(role="other")
        await bench.look()
        new = await profile_of(bench)
        assert bench.profiles() == {old: [ROLE], new: ["other"]}
        await bench.advance(timedelta(minutes=59))
        await bench.controller.collect_profiles()
        assert set(bench.profiles()) == {old, new}
        await bench.advance(timedelta(minutes=1))
        await bench.controller.collect_profiles()
        assert bench.profiles() == {new: ["other"]}


async def test_going_back_to_a_role_goes_back_to_its_profile(aws: Aws) -> None:
    """A class and a role have one profile, however often the role changes."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        names = []
        for role in (ROLE, "other", ROLE):
            await bench.change(role=role)
            await bench.look()
            names.append(await profile_of(bench))
        assert names[0] == names[2]
        assert len(bench.profiles()) == 2


async def test_a_profile_that_a_claim_uses_is_not_collected(aws: Aws) -> None:
    """The annotation of the claim names it; once the claim is gone, an hour passes."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        old = await profile_of(bench)
        await bench.create_claim("default-1", annotations={PROFILE_ANNOTATION: old})
        await bench.change(role="other")
        await bench.look()
        await bench.advance(timedelta(hours=5))
        await bench.controller.collect_profiles()
        assert old in bench.profiles()


async def test_after_a_restart_an_unused_profile_is_kept_for_another_hour(aws: Aws) -> None:
    """Nobody remembers since when it is unused, so the hour begins when it is first seen."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        old = await profile_of(bench)
        await bench.change(role="other")
        await bench.look()
        await bench.advance(timedelta(hours=2))
        controller = bench.started_anew()
        await bench.known()
        await controller.collect_profiles()
        assert old in bench.profiles()
        await bench.advance(timedelta(hours=1))
        await controller.collect_profiles()
        assert old not in bench.profiles()


async def test_profiles_of_others_are_never_collected(aws: Aws) -> None:
    """Only what is below the path of the cluster is ours."""
    async with node_class_bench(aws) as bench:
        bench.aws.clients["iam"].create_instance_profile(InstanceProfileName="theirs")
        for _ in range(3):
            await bench.controller.collect_profiles()
            await bench.advance(timedelta(hours=2))
        assert list(bench.profiles()) == ["theirs"]


@pytest.mark.parametrize(
    "action",
    ["CreateInstanceProfile", "AddRoleToInstanceProfile"],
    ids=["after the profile was created", "after the role was added"],
)
async def test_a_restart_in_the_middle_of_creation_leaks_and_doubles_nothing(
    aws: Aws, action: str
) -> None:
    """The call is carried out, its answer is lost, and the process ends."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        bench.control.lose_answer(action)
        await bench.look()
        assert (await bench.condition(READY)).status == "Unknown"
        bench.started_anew()
        await bench.look()
        assert bench.profiles() == {await profile_of(bench): [ROLE]}
        assert (await bench.condition(READY)).status == "True"


async def test_a_restart_before_the_status_is_written_uses_the_profile_that_is_there(
    aws: Aws,
) -> None:
    """The name follows from class and role, so that nobody need remember it."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        name = await profile_of(bench)
        await bench.kube.patch(*bench.without_status())
        bench.started_anew()
        await bench.look()
        assert await profile_of(bench) == name
        assert list(bench.profiles()) == [name]


async def test_a_profile_whose_role_cannot_be_added_is_deleted_again(aws: Aws) -> None:
    """Nothing stays behind that nobody uses."""
    async with node_class_bench(aws) as bench:
        bench.control.fail_calls("AddRoleToInstanceProfile", "ServiceFailure", status=500)
        await bench.create()
        await bench.look()
        assert bench.profiles() == {}
        assert bench.actions("DeleteInstanceProfile") == ["DeleteInstanceProfile"]
        await bench.advance(timedelta(minutes=1))
        await bench.look()
        assert (await bench.condition(READY)).status == "True"


async def test_a_role_that_does_not_exist_is_asked_for_once_a_minute(aws: Aws) -> None:
    """And used as soon as it is there."""
    async with node_class_bench(aws) as bench:
        await bench.create(role="late")
        for _ in range(3):
            await bench.look()
        assert bench.actions("AddRoleToInstanceProfile") == ["AddRoleToInstanceProfile"]
        bench.aws.clients["iam"].create_role(RoleName="late", AssumeRolePolicyDocument="{}")
        await bench.advance(timedelta(minutes=1))
        await bench.look()
        assert (await bench.condition(READY)).status == "True"
        assert bench.profiles() == {await profile_of(bench): ["late"]}


async def test_a_profile_of_the_user_that_is_missing_is_asked_for_once_a_minute(aws: Aws) -> None:
    """And used as soon as it is there."""
    async with node_class_bench(aws) as bench:
        await bench.create(role=None, instanceProfile="mine")
        for _ in range(3):
            await bench.look()
        assert bench.actions("GetInstanceProfile") == ["GetInstanceProfile"]
        bench.aws.clients["iam"].create_instance_profile(InstanceProfileName="mine")
        await bench.advance(timedelta(minutes=1))
        await bench.look()
        assert (await bench.condition(READY)).status == "True"
        assert await profile_of(bench) == "mine"


async def test_the_profile_that_the_reference_made_is_kept(aws: Aws) -> None:
    """Taking over from Karpenter changes no node: a profile with the right role stays in use."""
    async with node_class_bench(aws) as bench:
        iam = bench.aws.clients["iam"]
        iam.create_instance_profile(InstanceProfileName="prod_123")
        iam.add_role_to_instance_profile(InstanceProfileName="prod_123", RoleName=ROLE)
        await bench.create()
        await bench.kube.patch(*bench.without_status(instanceProfile="prod_123"))
        await bench.look()
        assert await profile_of(bench) == "prod_123"
        assert list(bench.profiles()) == ["prod_123"]


async def test_a_restart_after_any_call_leaks_and_doubles_nothing(aws: Aws) -> None:
    """Every call of a first pass in turn is carried out, its answer lost, and the process ends."""
    async with node_class_bench(aws) as bench:
        n_before = len(bench.control.calls())
        await bench.create("undisturbed")
        await bench.look("undisturbed")
        n_calls = len(bench.control.calls()) - n_before
        assert n_calls > 10
        n_disturbed = 0
        for skip in range(n_calls):
            name = f"class-{skip}"
            bench.started_anew()
            await bench.create(name)
            bench.control.lose_answer("*", skip=skip)
            await bench.look(name)
            n_disturbed += not await is_ready(bench, name)
            bench.control.clear_faults()
            bench.started_anew()
            await bench.look(name)
            assert await is_ready(bench, name), name
        assert n_disturbed > 10
        assert list(bench.profiles().values()) == [[ROLE]] * (n_calls + 1)
        assert bench.aws.ec2.describe_launch_templates()["LaunchTemplates"] == []


async def is_ready(bench: NodeClassBench, name: str) -> bool:
    """Whether a class is Ready."""
    return (await bench.condition("Ready", name)).status == "True"
