"""Settings are completed at the start, and what cannot work is refused with its remedy."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec
import pytest

from dovetail.apiserver import MemoryKube
from dovetail.clock import LoopTimer, SystemClock
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.provider import CloudProvider, workers_of
from dovetail.errors import InputError
from dovetail.kube.seam import Kube
from dovetail.providers.aws.apis import connect
from dovetail.providers.aws.launching.class_catalogue import knows_reservations
from dovetail.providers.aws.opening import open_provider
from dovetail.providers.aws.provider import AwsProvider
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.startup import region_of, with_cluster
from dovetail.providers.aws.status.controller import NodeClassController
from tests.ec2.control import REGION
from tests.ec2.setting import Aws

pytestmark = pytest.mark.xdist_group("ec2")

NAME = "startup"
ENDPOINT = "https://startup.example.com"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any credentials will do; no region is configured."""
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "test")
    for key in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


async def test_the_region_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the settings name one."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    assert await region_of(AwsSettings()) == "eu-central-1"
    assert await region_of(AwsSettings(region="us-east-2")) == "us-east-2"


async def test_without_a_region_the_message_says_how_to_set_it() -> None:
    """Outside EC2 there is no metadata service to ask."""
    with pytest.raises(InputError, match="set AWS_REGION"):
        await region_of(AwsSettings())


async def completed(aws: Aws, authority: bytes = b"", **settings: Any) -> AwsSettings:
    """The settings as the provider uses them."""
    url = aws.control.url
    given = AwsSettings(cluster_name=NAME, **settings)
    async with connect(region=REGION, pricing_region=REGION, endpoint_url=url) as apis:
        return await with_cluster(given, apis.eks, api_authority=authority)


def make_cluster(aws: Aws) -> dict[str, Any]:
    """A cluster, as EKS describes it."""
    network = {"subnetIds": sorted(aws.subnets().values())}
    aws.clients["eks"].create_cluster(
        name=NAME, roleArn="arn:aws:iam::123456789012:role/eks", resourcesVpcConfig=network
    )
    described: dict[str, Any] = aws.clients["eks"].describe_cluster(name=NAME)["cluster"]
    return described


async def test_eks_tells_what_is_not_set(aws: Aws) -> None:
    """The endpoint and the CA bundle."""
    cluster = make_cluster(aws)
    known = await completed(aws)
    assert known.cluster_endpoint == cluster["endpoint"]
    assert known.cluster_ca_bundle == cluster["certificateAuthority"]["data"]


async def test_the_bundle_is_the_one_that_verifies_the_api_server(aws: Aws) -> None:
    """It takes part in the drift hash, so it is the same to the byte, and EKS is not asked."""
    known = await completed(aws, b"authority\n", cluster_endpoint=ENDPOINT)
    assert known.cluster_ca_bundle == b64encode(b"authority\n").decode()
    assert aws.control.calls("DescribeCluster") == []


async def test_a_bundle_that_is_set_wins(aws: Aws) -> None:
    """Over that of the controller's own connection."""
    known = await completed(aws, b"other", cluster_endpoint=ENDPOINT, cluster_ca_bundle="Y2E=")
    assert known.cluster_ca_bundle == "Y2E="


async def test_a_cluster_that_does_not_exist_is_refused_with_the_flags_to_set(aws: Aws) -> None:
    """The message names the call and what can be done without it."""
    with pytest.raises(InputError, match=r"eks:DescribeCluster failed.*or set --cluster-endpoint"):
        await completed(aws)


async def test_opening_needs_the_name_of_the_cluster() -> None:
    """Nodes could not join otherwise; nothing is asked of AWS before."""
    context = context_of()
    with pytest.raises(InputError, match="--cluster-name: is missing"):
        async with open_provider(context, AwsSettings(region=REGION)):
            pass


async def test_an_opened_provider_has_its_controllers(aws: Aws) -> None:
    """One for the catalogue and launches, one for node classes."""
    settings = AwsSettings(
        cluster_name=NAME,
        cluster_endpoint=ENDPOINT,
        cluster_ca_bundle="Y2E=",
        region=REGION,
        endpoint_url=aws.control.url,
    )
    async with open_provider(context_of(), settings) as provider:
        assert isinstance(provider, CloudProvider)
        assert provider.name == "aws"
        assert workers_of(provider)


async def test_an_opened_provider_asks_the_api_server_for_its_version(aws: Aws) -> None:
    """A cluster that EKS does not run can use image aliases, too."""
    settings = AwsSettings(
        cluster_name=NAME,
        cluster_endpoint=ENDPOINT,
        cluster_ca_bundle="Y2E=",
        region=REGION,
        endpoint_url=aws.control.url,
    )

    async def version() -> str:
        return "v1.33.1"

    context = msgspec.structs.replace(context_of(), kubernetes_version=version)
    async with open_provider(context, settings) as provider:
        assert isinstance(provider, AwsProvider)
        (classes,) = [
            worker for worker in provider.controllers if isinstance(worker, NodeClassController)
        ]
        assert await classes.parts.cluster.kubernetes_version() == "1.33"


def context_of() -> ProviderContext[Kube]:
    """What the provider is given."""
    clock = SystemClock()
    return ProviderContext(kube=MemoryKube(clock), clock=clock, timer=LoopTimer())


@pytest.mark.parametrize(
    ("gates", "want"),
    [
        pytest.param({}, True, id="the default"),
        pytest.param({"ReservedCapacity": True}, True, id="on"),
        pytest.param({"ReservedCapacity": False}, False, id="off"),
    ],
)
def test_reservations_follow_their_feature_gate(gates: dict[str, bool], want: object) -> None:
    """Without it, launch templates leave open reservations to EC2, as before there was the gate."""
    assert knows_reservations(gates) is want
