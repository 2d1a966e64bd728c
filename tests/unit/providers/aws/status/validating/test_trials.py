"""Which launch is tried, and with what requests."""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail import api
from dovetail.api.karpenter import (
    NodeClaimTemplate,
    NodeClaimTemplateSpec,
    NodeClassReference,
    NodePoolSpec,
    Requirement,
)
from dovetail.providers.aws.catalogue.inputs import CatalogueInputs
from dovetail.providers.aws.catalogue.instance_types import instance_types
from dovetail.providers.aws.catalogue.machines import packaged_prices, packaged_types
from dovetail.providers.aws.images.aliases import Variant
from dovetail.providers.aws.images.variants import image_requirements
from dovetail.providers.aws.node_class.types import (
    AMI,
    AMISelectorTerm,
    EC2NodeClass,
    EC2NodeClassSpec,
    EC2NodeClassStatus,
    Subnet,
)
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.validating.trials import (
    TrialSubject,
    TrialTemplate,
    fleet_trial,
    run_trials,
    trial_subject,
)

SETTINGS = AwsSettings(cluster_name="prod", region="us-west-2")
AMIS = tuple(
    AMI(id=f"{architecture}-{variant}", requirements=image_requirements(architecture, variant))
    for variant in (Variant.NVIDIA, Variant.STANDARD)
    for architecture in ("amd64", "arm64")
)
SUBNETS = (Subnet("subnet-3", "b", "2"), Subnet("subnet-1", "a", "1"), Subnet("subnet-2", "a", "1"))
TEMPLATE = TrialTemplate("name", {"NetworkInterfaces": [{"DeviceIndex": 0}]}, {"team": "a"})


def node_class(alias: str = "al2023@latest", *amis: AMI) -> EC2NodeClass:
    """A class with images."""
    return EC2NodeClass(
        spec=EC2NodeClassSpec(ami_selector_terms=(AMISelectorTerm(alias=alias),)),
        status=EC2NodeClassStatus(amis=amis or AMIS, subnets=SUBNETS),
    )


def pool(key: str, *values: str) -> api.NodePool:
    """A pool that requires one label."""
    reference = NodeClassReference("karpenter.k8s.aws", "EC2NodeClass", "default")
    spec = NodeClaimTemplateSpec(reference, (Requirement(key=key, operator="In", values=values),))
    return api.NodePool(spec=NodePoolSpec(NodeClaimTemplate(spec)))


def tried(found: EC2NodeClass, *pools: api.NodePool) -> tuple[str, str]:
    """The type and the image that are tried."""
    machines = packaged_types()
    inputs = CatalogueInputs(
        machines=machines,
        region="us-west-2",
        zones={machine.name: ("a", "b") for machine in machines},
        on_demand_nanousd=packaged_prices(),
    )
    subject = trial_subject(found, instance_types(found, inputs, SETTINGS), pools)
    return (subject.instance_type, subject.ami.id) if subject else ("", "")


def test_a_type_that_a_pool_may_launch_is_tried() -> None:
    """With the image that it boots."""
    key = "karpenter.k8s.aws/instance-family"
    assert tried(node_class(), pool(key, "c7g"))[0].startswith("c7g.")
    assert tried(node_class(), pool(key, "c7g"))[1] == "arm64-standard"


def test_an_image_for_machines_without_devices_is_preferred() -> None:
    """Machines with GPUs are tried where the pool allows nothing else."""
    key = "node.kubernetes.io/instance-type"
    assert tried(node_class(), pool(key, "g5.xlarge", "m5.large")) == ("m5.large", "amd64-standard")
    assert tried(node_class(), pool(key, "g5.xlarge")) == ("g5.xlarge", "amd64-nvidia")


def test_without_a_pool_a_usual_type_is_tried() -> None:
    """One that the images can boot; none if they can boot neither."""
    assert tried(node_class()) == ("m5.large", "amd64-standard")
    arm = [ami for ami in AMIS if ami.id == "arm64-standard"]
    assert tried(node_class("al2023@latest", *arm)) == ("m6g.large", "arm64-standard")
    gpu = [ami for ami in AMIS if ami.id == "amd64-nvidia"]
    assert tried(node_class("al2023@latest", *gpu)) == ("", "")


def test_windows_is_tried_with_a_usual_type() -> None:
    """Whatever its pools allow."""
    image = AMI(id="w", requirements=image_requirements("amd64", Variant.WINDOWS2022))
    key = "karpenter.k8s.aws/instance-family"
    found = node_class("windows2022@latest", image)
    assert tried(found, pool(key, "c5")) == ("m5.large", "w")


def test_a_fleet_is_tried_in_one_subnet_of_each_zone() -> None:
    """That with most free addresses; nothing is launched."""
    got = fleet_trial(node_class(), TrialSubject("m5.large", AMIS[0]), TEMPLATE)
    assert got["DryRun"] is True
    configs = msgspec.convert(got["LaunchTemplateConfigs"], list[dict[str, Any]])
    subnets = [override["SubnetId"] for override in configs[0]["Overrides"]]
    assert subnets == ["subnet-1", "subnet-3"]


def test_instances_are_tried_in_every_subnet() -> None:
    """In the interfaces of the template, since EC2 refuses a subnet beside them."""
    got = run_trials(node_class(), TrialSubject("m5.large", AMIS[0]), TEMPLATE)
    assert [one["DryRun"] for one in got] == [True] * 3
    assert [one["NetworkInterfaces"] for one in got] == [
        [{"DeviceIndex": 0, "SubnetId": subnet.id}] for subnet in SUBNETS
    ]
