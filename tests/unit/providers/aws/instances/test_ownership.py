"""Tests of which claim an instance runs for."""

from __future__ import annotations

from dovetail.providers.aws.instances.described import Ec2Instance, instance_id
from dovetail.providers.aws.instances.ownership import ClaimOwner, owners
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.marks import ClaimRecord


def instance(name: str, token: str = "t", state: str = "running") -> Ec2Instance:  # noqa: S107  the token of a fleet
    """An instance of a fleet."""
    return Ec2Instance(
        id=name, instance_type="m5.large", zone="z", state=state, tags={keys.TOKEN_TAG: token}
    )


def claim(name: str, ordinal: int, token: str = "t", provider_id: str = "") -> ClaimRecord:  # noqa: S107  the token of a fleet
    """A claim that is marked."""
    return ClaimRecord(name, f"uid-{name}", token=token, ordinal=ordinal, provider_id=provider_id)


def test_the_ordinal_of_a_claim_picks_its_instance_among_those_of_its_token() -> None:
    """In the order of their ids; other fleets have numbers of their own."""
    instances = [instance("i-3"), instance("i-1"), instance("i-2", "other")]
    claims = [claim("b", 1), claim("a", 0), claim("c", 0, "other")]
    assert owners(instances, claims) == {
        "i-1": ClaimOwner("a", "uid-a"),
        "i-3": ClaimOwner("b", "uid-b"),
        "i-2": ClaimOwner("c", "uid-c"),
    }


def test_terminated_instances_keep_their_place() -> None:
    """So the others do not change owners."""
    instances = [instance("i-1", state="terminated"), instance("i-2")]
    assert owners(instances, [claim("a", 1)]) == {"i-2": ClaimOwner("a", "uid-a")}


def test_the_provider_id_on_a_claim_goes_before_its_mark() -> None:
    """A claim that has another instance does not own this one."""
    instances = [instance("i-1"), instance("i-2")]
    claims = [claim("a", 1, provider_id="aws:///z/i-1")]
    assert owners(instances, claims) == {"i-1": ClaimOwner("a", "uid-a")}


def test_an_instance_without_a_claim_has_no_owner() -> None:
    """Garbage collection ends it."""
    plain = Ec2Instance(id="i-9", instance_type="m5.large", zone="z")
    assert owners([instance("i-1"), plain], [claim("a", 1), ClaimRecord("x", "y")]) == {}


def test_a_provider_id_that_is_not_of_ec2_has_no_instance_id() -> None:
    """Nothing is asked of AWS for it."""
    assert instance_id("aws:///us-west-2a/i-0") == "i-0"
    for other in ("", "kwok://i-0", "aws:///us-west-2a", "aws:///zone/x-0"):
        assert instance_id(other) == ""
