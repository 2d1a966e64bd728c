"""Names of instance profiles."""

from __future__ import annotations

from dovetail import api
from dovetail.providers.aws.node_class.types import EC2NodeClass, EC2NodeClassSpec
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.profiles.names import (
    class_path,
    legacy_profile_name,
    profile_order,
    role_name,
)

SETTINGS = AwsSettings(cluster_name="prod", region="us-west-2")


def name_of(
    role: str = "a", *, name: str = "default", uid: str = "1", settings: AwsSettings = SETTINGS
) -> str:
    """The name of the profile of a class."""
    meta = api.ObjectMeta(name=name, uid=uid)
    node_class = EC2NodeClass(metadata=meta, spec=EC2NodeClassSpec(role=role))
    return profile_order(node_class, settings).name


def test_a_class_and_a_role_have_one_name_and_others_have_others() -> None:
    """Region and cluster count, too; the path of the role does not."""
    elsewhere = AwsSettings(cluster_name="prod", region="eu-west-1")
    names = [name_of(), name_of("b"), name_of(uid="2"), name_of(settings=elsewhere)]
    assert len(set(names)) == 4
    assert name_of() == name_of("path/to/a")
    assert name_of().startswith("prod_")


def test_user_tags_do_not_replace_those_that_tell_the_owner() -> None:
    """Garbage collection and permissions rely on them."""
    spec = EC2NodeClassSpec(role="a", tags={"eks:eks-cluster-name": "other", "team": "b"})
    order = profile_order(EC2NodeClass(spec=spec), SETTINGS)
    assert dict(order.tags)["eks:eks-cluster-name"] == "prod"
    assert dict(order.tags)["team"] == "b"


def test_paths_lead_from_cluster_to_class() -> None:
    """So that one list finds all of a class."""
    assert class_path(SETTINGS, "1-2") == "/karpenter/us-west-2/prod/1-2/"
    assert role_name("path/to/role") == role_name("role") == "role"


def test_older_releases_named_the_profile_by_region_and_class() -> None:
    """With the 64-bit FNV-1 hash of both."""
    hashed = 0xCBF29CE484222325
    for byte in b"us-west-2default":
        hashed = (hashed * 0x100000001B3) % 2**64 ^ byte
    assert legacy_profile_name(SETTINGS, "default") == f"prod_{hashed}"
