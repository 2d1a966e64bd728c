"""Instances of the EC2 for tests become nodes if, and only if, their user data is right."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from dovetail.clock import LoopTimer
from dovetail.providers.aws.apis import connect
from dovetail.providers.aws.bootstrap.families import Family
from dovetail.providers.aws.bootstrap.user_data import user_data
from dovetail.sim.kubelets import Habits
from tests.conformance.kube.objects import NODE
from tests.ec2.control import REGION
from tests.ec2.kubelet.join_request import ClusterFacts
from tests.ec2.kubelet.node import GI, MI
from tests.ec2.kubelet.readers import join_request
from tests.ec2.kubelet.standin import Ec2Kubelets, Manner, World
from tests.ec2.setting import ZONES, Aws
from tests.unit.providers.aws.bootstrap.cases import KUBELET, NODE_CONFIG, RAID0, inputs
from tests.unit.sim.clusters import Cluster, conditions, no_chance

pytestmark = pytest.mark.xdist_group("ec2")

GIVEN = inputs()
CLUSTER = ClusterFacts(
    GIVEN.cluster_name, GIVEN.cluster_endpoint, GIVEN.ca_bundle, GIVEN.cluster_cidr
)
EKS = "/aws/service/eks/optimized-ami"
WINDOWS = "/aws/service/ami-windows-latest/Windows_Server-{}-English-Core-EKS_Optimized-1.35"
WINDOWS_YEARS = {
    Family.WINDOWS2019: "2019",
    Family.WINDOWS2022: "2022",
    Family.WINDOWS2025: "2025",
}
IMAGES = {
    Family.AL2: f"{EKS}/1.32/amazon-linux-2/recommended/image_id",
    Family.AL2023: f"{EKS}/1.35/amazon-linux-2023/x86_64/standard/recommended/image_id",
    Family.BOTTLEROCKET: "/aws/service/bottlerocket/aws-k8s-1.35/x86_64/latest/image_id",
    **{family: f"{WINDOWS.format(year)}/image_id" for family, year in WINDOWS_YEARS.items()},
}
FAMILIES = pytest.mark.parametrize("family", IMAGES, ids=str)
WANT_LABELS = {
    "karpenter.k8s.aws/ec2nodeclass": "default",
    "karpenter.sh/capacity-type": "spot",
    "karpenter.sh/do-not-sync-taints": "true",
    "karpenter.sh/nodepool": "default",
    "team": "a",
}
WANT_TAINTS = [
    {"key": "cilium.io/not-ready", "effect": "NoExecute"},
    {"key": "dedicated", "value": "batch", "effect": "NoSchedule"},
    {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
]
NOT_READY = "node.kubernetes.io/not-ready"


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any will do."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@asynccontextmanager
async def kubelets(aws: Aws, cluster: Cluster, **manner: Any) -> AsyncIterator[Ec2Kubelets]:
    """Kubelets of the EC2 of this test, on an API server in memory."""
    url = aws.control.url
    world = World(cluster.time, cluster.time, no_chance)
    async with connect(region=REGION, pricing_region=REGION, endpoint_url=url) as apis:
        yield Ec2Kubelets(cluster.kube, apis.ec2, CLUSTER, world, Manner(**manner))


def launch(aws: Aws, text: str, family: Family = Family.AL2023, **more: Any) -> str:
    """An instance that runs with this user data."""
    image = aws.clients["ssm"].get_parameter(Name=IMAGES[family])["Parameter"]["Value"]
    instance_type = more.pop("instance_type", "m5.large")
    aws.template(ImageId=image, UserData=b64encode(text.encode()).decode(), **more)
    instance_id = aws.launch(instance_type)
    aws.control.advance(timedelta(minutes=1))
    return instance_id


async def joined(aws: Aws, instance_id: str, **manner: Any) -> dict[str, Any]:
    """The Node that the instance registers."""
    cluster = Cluster()
    async with kubelets(aws, cluster, **manner) as life:
        await life.step()
        assert life.refused == {}
        (node,) = await cluster.all(NODE)
        assert life.joined == {instance_id: node["metadata"]["name"]}
        return node


async def refusal(aws: Aws, instance_id: str) -> str:
    """Why the instance registers no Node."""
    cluster = Cluster()
    async with kubelets(aws, cluster) as life:
        await life.step()
        assert await cluster.all(NODE) == []
        return life.refused[instance_id]


@FAMILIES
async def test_an_instance_joins_with_what_its_user_data_says(aws: Aws, family: Family) -> None:
    """Labels, taints and the number of pods are those of the inputs; the rest is the machine's."""
    instance_id = launch(aws, user_data(family, GIVEN), family)
    node = await joined(aws, instance_id)
    described = aws.instance(instance_id)
    assert node["metadata"]["name"] == described["PrivateDnsName"]
    assert node["spec"]["providerID"] == f"aws:///{ZONES[0]}/{instance_id}"
    taints = [one for one in node["spec"]["taints"] if one["key"] != NOT_READY]
    assert taints == WANT_TAINTS
    labels = node["metadata"]["labels"]
    assert {key: labels.get(key) for key in WANT_LABELS} == WANT_LABELS
    assert labels["kubernetes.io/os"] == ("windows" if family in WINDOWS_YEARS else "linux")
    assert labels["node.kubernetes.io/instance-type"] == "m5.large"
    assert labels["topology.kubernetes.io/zone"] == ZONES[0]
    assert not any("node-restriction" in key for key in labels)
    assert node["status"]["capacity"]["pods"] == "29"
    assert node["status"]["capacity"]["cpu"] == "2"


@FAMILIES
async def test_reserved_resources_of_the_kubelet_are_missing_in_allocatable(
    aws: Aws, family: Family
) -> None:
    """System and kube reserved, and the thresholds of hard eviction, are taken off capacity."""
    given = inputs(kubelet=KUBELET, max_pods=None)
    node = await joined(aws, launch(aws, user_data(family, given), family), memory_percent=100)
    memory = 8 * GI
    pods = 58 if family is Family.BOTTLEROCKET else 20  # ten per core, where that is supported
    want_memory = memory - 400 * MI - -(-memory * 5 // 100)
    assert node["status"]["capacity"]["pods"] == str(pods)
    assert node["status"]["allocatable"]["cpu"] == "1700m"
    assert node["status"]["allocatable"]["memory"] == str(want_memory)


async def test_the_instance_store_is_the_disk_of_pods_where_it_is_asked_for(aws: Aws) -> None:
    """Otherwise it is the volume of the root device."""
    text = user_data(Family.AL2023, inputs(instance_store_policy=RAID0))
    node = await joined(aws, launch(aws, text, instance_type="m5d.large"))
    assert node["status"]["capacity"]["ephemeral-storage"] == str(75 * 10**9)


async def test_the_volume_of_the_root_device_is_the_disk_of_pods(aws: Aws) -> None:
    """As large as the template has it."""
    devices = [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 50, "VolumeType": "gp3"}}]
    text = user_data(Family.AL2023, GIVEN)
    node = await joined(aws, launch(aws, text, BlockDeviceMappings=devices))
    assert node["status"]["capacity"]["ephemeral-storage"] == "50Gi"


async def test_settings_of_the_user_lose_against_ours_and_their_flags_are_kept(aws: Aws) -> None:
    """nodeadm merges NodeConfigs, and the last one wins."""
    flags = NODE_CONFIG + "    flags:\n      - --node-labels=mine=yes,team=b\n"
    node = await joined(aws, launch(aws, user_data(Family.AL2023, inputs(custom=flags))))
    assert node["status"]["capacity"]["pods"] == "29"
    labels = node["metadata"]["labels"]
    assert (labels["mine"], labels["team"]) == ("yes", "a")


@FAMILIES
@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param({"cluster_name": "other"}, "cluster name: got 'other'", id="another cluster"),
        pytest.param(
            {"cluster_endpoint": "https://other"}, "cluster endpoint: got", id="another endpoint"
        ),
        pytest.param({"ca_bundle": "b3RoZXI="}, "cluster ca_bundle: got", id="another authority"),
    ],
)
async def test_an_instance_told_of_another_cluster_does_not_join(
    aws: Aws, family: Family, changes: dict[str, str], want: str
) -> None:
    """The reason can be read."""
    text = user_data(family, inputs(**changes))
    assert want in await refusal(aws, launch(aws, text, family))


@pytest.mark.parametrize(
    ("family", "text", "want"),
    [
        pytest.param(
            Family.AL2023,
            user_data(Family.AL2023, GIVEN).replace('    cidr: "10.100.0.0/16"\n', ""),
            "nodeadm: cidr is missing",
            id="AL2023 without service addresses",
        ),
        pytest.param(
            Family.AL2023,
            user_data(Family.AL2023, GIVEN).replace("kubelet:", "kubelet: ["),
            "nodeadm: malformed NodeConfig",
            id="AL2023 with broken YAML",
        ),
        pytest.param(Family.AL2023, "#!/bin/sh\n", "no NodeConfig", id="AL2023 with a script only"),
        pytest.param(
            Family.AL2, "#!/bin/sh\necho\n", "no script calls /etc/eks/bootstrap.sh", id="AL2 idle"
        ),
        pytest.param(
            Family.AL2,
            user_data(Family.AL2, GIVEN).replace("--max-pods=", "--most-pods="),
            "kubelet: unknown flag most-pods",
            id="a flag that kubelet has not",
        ),
        pytest.param(
            Family.AL2,
            user_data(Family.AL2, GIVEN).replace("team=a", "kubernetes.io/role=a"),
            "kubelet: may not set labels kubernetes.io/role",
            id="a label that kubelet may not set",
        ),
        pytest.param(
            Family.BOTTLEROCKET, "[settings", "malformed settings", id="Bottlerocket, broken TOML"
        ),
        pytest.param(
            Family.BOTTLEROCKET,
            user_data(Family.AL2023, GIVEN),
            "malformed settings",
            id="Bottlerocket with the data of AL2023",
        ),
        pytest.param(
            Family.WINDOWS2022,
            user_data(Family.WINDOWS2022, GIVEN).replace("powershell>", "script>"),
            "no <powershell> block",
            id="Windows without PowerShell",
        ),
        pytest.param(
            Family.WINDOWS2022,
            user_data(Family.WINDOWS2022, GIVEN).replace("'production'", '"$production"'),
            "PowerShell: expected quoted text",
            id="Windows with text that expands",
        ),
    ],
)
async def test_wrong_user_data_gives_no_node_but_a_reason(
    aws: Aws, family: Family, text: str, want: str
) -> None:
    """So that a test of the controller fails for the right cause."""
    assert want in await refusal(aws, launch(aws, text, family))


async def test_a_joined_node_becomes_ready_and_runs_its_pods(aws: Aws) -> None:
    """Its lease is kept, and the taint of nodes that are not ready goes; ours stays."""
    instance_id = launch(aws, user_data(Family.AL2023, GIVEN))
    cluster = Cluster()
    async with kubelets(aws, cluster, habits=Habits(lease_seconds=20.0)) as life:
        await life.step()
        name = life.joined[instance_id]
        pod = await cluster.pod("web")
        await cluster.bind(pod, name)
        async with cluster.living(life.tending().run()):
            await cluster.settle(30)
            (node,) = await cluster.all(NODE)
            assert conditions(node)["Ready"] == "True"
            assert [one["key"] for one in node["spec"]["taints"]] == [
                one["key"] for one in WANT_TAINTS
            ]
            assert (await cluster.get(pod))["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    ("deletes_nodes", "want"),
    [
        pytest.param(True, [], id="a cloud controller manager deletes it"),
        pytest.param(False, ["Unknown"], id="it stays and is not ready"),
    ],
)
async def test_the_node_of_a_terminated_instance_leaves_or_becomes_not_ready(
    aws: Aws, want: list[str], *, deletes_nodes: bool
) -> None:
    """As the cluster is made."""
    instance_id = launch(aws, user_data(Family.AL2023, GIVEN))
    cluster = Cluster()
    async with kubelets(aws, cluster, deletes_nodes=deletes_nodes) as life:
        await life.step()
        assert len(await cluster.all(NODE)) == 1
        aws.ec2.terminate_instances(InstanceIds=[instance_id])
        await life.step()
        assert [conditions(node)["Ready"] for node in await cluster.all(NODE)] == want
        assert life.refused == {instance_id: "the instance is terminated"}


async def test_an_instance_that_does_not_run_yet_has_no_node(aws: Aws) -> None:
    """It joins when it runs, and once only."""
    aws.template(UserData=b64encode(user_data(Family.AL2023, GIVEN).encode()).decode())
    aws.launch()
    cluster = Cluster()
    async with kubelets(aws, cluster) as life:
        await life.step()
        assert await cluster.all(NODE) == []
        aws.control.advance(timedelta(minutes=1))
        await life.step()
        (node,) = await cluster.all(NODE)
        await life.step()
        assert await cluster.all(NODE) == [node]


@FAMILIES
def test_an_image_of_a_user_is_read_by_what_it_is_given(family: Family) -> None:
    """Its name tells nothing."""
    request = join_request(user_data(family, GIVEN).encode(), "my-image", CLUSTER)
    assert request.labels == WANT_LABELS
    assert request.max_pods == 29


async def test_kubelets_outlast_calls_that_fail(aws: Aws) -> None:
    """A test may order failures of EC2 for the controller; instances join when they are over."""
    instance_id = launch(aws, user_data(Family.AL2023, GIVEN))
    aws.control.fail_calls("DescribeInstances", "UnauthorizedOperation", times=5)
    cluster = Cluster()
    async with kubelets(aws, cluster) as life, asyncio.TaskGroup() as group:
        life.world = World(cluster.time, LoopTimer(), no_chance)
        life.manner = Manner(poll_seconds=0.01)
        running = group.create_task(life.run())
        async with asyncio.timeout(60):
            while instance_id not in life.joined:  # noqa: ASYNC110  others know of no event
                await asyncio.sleep(0.05)
        running.cancel()
    assert len(await cluster.all(NODE)) == 1
