"""Tests every rule of EC2NodeClass, field by field, with classes that are accepted and refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dovetail import api
from dovetail.api.checks import check
from dovetail.api.facts import Rule
from dovetail.providers.aws.node_class import rules
from dovetail.providers.aws.node_class.types import EC2NodeClass
from tests.unit.providers.aws.node_class.rows import ROWS, SOUND, Case

Test = Callable[[Case], None]


def row(field: str) -> Callable[[Test], Test]:
    """Run a test with every case of a field."""
    cases = [pytest.param(case, id=case.name) for case in ROWS[field]]
    return pytest.mark.parametrize("case", cases)


def problems(case: Case) -> list[api.FieldProblem]:
    """What is wrong with a class."""
    try:
        node_class = api.decode(EC2NodeClass, case.tree)
    except api.DecodeError as error:
        return [error.problem]
    return list(check(node_class.spec, "spec"))


def judge(case: Case) -> None:
    """Check that a class is accepted, or refused at the field with the message."""
    got = problems(case)
    if not case.field:
        assert got == []
        return
    assert any(one.field == case.field and case.message in one.message for one in got), got


@row("subnetSelectorTerms")
def test_subnet_selector_terms(case: Case) -> None:
    """1 to 30 terms, each with tags or an id alone."""
    judge(case)


@row("securityGroupSelectorTerms")
def test_security_group_selector_terms(case: Case) -> None:
    """1 to 30 terms, each with tags, or an id or a name alone."""
    judge(case)


@row("capacityReservationSelectorTerms")
def test_capacity_reservation_selector_terms(case: Case) -> None:
    """Up to 30 terms with tags, owner and criteria, or an id alone."""
    judge(case)


@row("placementGroupSelector")
def test_placement_group_selector(case: Case) -> None:
    """A name or an id."""
    judge(case)


@row("associatePublicIPAddress")
def test_associate_public_ip_address(case: Case) -> None:
    """True, false or absent."""
    judge(case)


@row("ipPrefixCount")
def test_ip_prefix_count(case: Case) -> None:
    """Not negative."""
    judge(case)


@row("amiSelectorTerms")
def test_ami_selector_terms(case: Case) -> None:
    """1 to 30 terms; ids are alone in their term, an alias is alone altogether."""
    judge(case)


@row("amiFamily")
def test_ami_family(case: Case) -> None:
    """The family of the alias or Custom; without an alias any, but one."""
    judge(case)


@row("userData")
def test_user_data(case: Case) -> None:
    """Any text."""
    judge(case)


@row("role")
def test_role(case: Case) -> None:
    """A role or an instance profile."""
    judge(case)


@row("instanceProfile")
def test_instance_profile(case: Case) -> None:
    """A name."""
    judge(case)


@row("tags")
def test_tags(case: Case) -> None:
    """None of those that the controller sets."""
    judge(case)


@row("kubelet")
def test_kubelet(case: Case) -> None:
    """The keys that the controller reads are checked, others are let through."""
    judge(case)


@row("blockDeviceMappings")
def test_block_device_mappings(case: Case) -> None:
    """Up to 50, at most one of them the root volume."""
    judge(case)


@row("ebs")
def test_ebs(case: Case) -> None:
    """A size within bounds or a snapshot."""
    judge(case)


@row("instanceStorePolicy")
def test_instance_store_policy(case: Case) -> None:
    """RAID0."""
    judge(case)


@row("networkInterfaces")
def test_network_interfaces(case: Case) -> None:
    """A primary one, each place once, one EFA for each card."""
    judge(case)


@row("detailedMonitoring")
def test_detailed_monitoring(case: Case) -> None:
    """True, false or absent."""
    judge(case)


@row("metadataOptions")
def test_metadata_options(case: Case) -> None:
    """Words and hops within bounds."""
    judge(case)


@row("connectionTracking")
def test_connection_tracking(case: Case) -> None:
    """At least one timeout, each within bounds."""
    judge(case)


@row("context")
def test_context(case: Case) -> None:
    """Any text."""
    judge(case)


@row("cpuOptions")
def test_cpu_options(case: Case) -> None:
    """Enabled or disabled."""
    judge(case)


def _rules() -> list[tuple[str, Rule]]:
    return [(name, rule) for name, rule in vars(rules).items() if isinstance(rule, Rule)]


@pytest.mark.parametrize(("name", "rule"), _rules(), ids=[name for name, _ in _rules()])
def test_every_rule_refuses_a_class_above(name: str, rule: Rule) -> None:
    """No rule is forgotten."""
    messages = {one.message for cases in ROWS.values() for case in cases for one in problems(case)}
    assert rule.message in messages, name


def test_a_sound_class_is_accepted() -> None:
    """The class that the others differ from."""
    assert problems(Case("sound", {})) == []
    assert api.decode(EC2NodeClass, SOUND).metadata.name == "default"
