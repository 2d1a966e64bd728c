"""AWSNodeTemplates, inline providers and EC2NodeClasses of v1beta1 become what they meant."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.unit.api.older.conversions import converted, node_class, provisioner, template

ROLE: Final = "role: nodes, amiFamily: AL2"
HOPS: Final = {"httpPutResponseHopLimit": 2}
UBUNTU_DISK: Final = {
    "deviceName": "/dev/sda1",
    "rootVolume": True,
    "ebs": {"volumeSize": "20Gi", "volumeType": "gp3", "encrypted": True},
}
# A rule, the spec of an AWSNodeTemplate, a field of the class, and what it holds.
TEMPLATES: Final[tuple[tuple[str, str, str, Any], ...]] = (
    ("amiFamily, absent", "", "amiSelectorTerms", [{"alias": "al2@latest"}]),
    *(
        (f"amiFamily {family}", f"amiFamily: {family}", "amiSelectorTerms",
         [{"alias": f"{family.lower()}@latest"}])
        for family in ("AL2", "Bottlerocket", "Windows2019", "Windows2022")
    ),
    ("amiFamily, with an alias", "amiFamily: Bottlerocket", "amiFamily", None),
    ("amiFamily, with a selector", "amiFamily: Bottlerocket, amiSelector: {a: b}", "amiFamily",
     "Bottlerocket"),
    ("amiFamily absent, with a selector", "amiSelector: {a: b}", "amiFamily", "AL2"),
    ("amiFamily Custom", "amiFamily: Custom, amiSelector: {a: b}", "amiFamily", "Custom"),
    ("amiFamily Ubuntu", "amiFamily: Ubuntu, amiSelector: {a: b}", "amiFamily", "AL2"),
    ("amiFamily Ubuntu, disk", "amiFamily: Ubuntu, amiSelector: {a: b}", "blockDeviceMappings",
     [UBUNTU_DISK]),
    ("amiFamily Ubuntu, disk given",
     "amiFamily: Ubuntu, amiSelector: {a: b}, blockDeviceMappings: [{deviceName: /dev/sda1}]",
     "blockDeviceMappings", [{"deviceName": "/dev/sda1"}]),
    ("subnetSelector", "subnetSelector: {a: b, c: '*'}", "subnetSelectorTerms",
     [{"tags": {"a": "b", "c": "*"}}]),
    ("subnetSelector, values", "subnetSelector: {a: 'b, c', d: 'e,f'}", "subnetSelectorTerms",
     [{"tags": {"a": "b", "d": "e"}}, {"tags": {"a": "b", "d": "f"}},
      {"tags": {"a": "c", "d": "e"}}, {"tags": {"a": "c", "d": "f"}}]),
    ("subnetSelector, aws-ids", "subnetSelector: {aws-ids: 'subnet-1,subnet-2'}",
     "subnetSelectorTerms", [{"id": "subnet-1"}, {"id": "subnet-2"}]),
    ("subnetSelector, aws::ids", "subnetSelector: {'aws::ids': subnet-1}", "subnetSelectorTerms",
     [{"id": "subnet-1"}]),
    ("subnetSelector, ids exclude tags", "subnetSelector: {aws-ids: subnet-1, a: b}",
     "subnetSelectorTerms", [{"id": "subnet-1"}]),
    ("securityGroupSelector", "securityGroupSelector: {a: b}", "securityGroupSelectorTerms",
     [{"tags": {"a": "b"}}]),
    ("securityGroupSelector, names", "securityGroupSelector: {'aws::name': 'x,y'}",
     "securityGroupSelectorTerms", [{"name": "x"}, {"name": "y"}]),
    ("amiSelector, ids", "amiSelector: {'aws::ids': 'ami-1,ami-2'}", "amiSelectorTerms",
     [{"id": "ami-1"}, {"id": "ami-2"}]),
    ("amiSelector, owners by names with tags",
     "amiSelector: {'aws::name': 'x,y', 'aws::owners': 'self,1', a: b}", "amiSelectorTerms",
     [{"tags": {"a": "b"}, "name": "x", "owner": "self"},
      {"tags": {"a": "b"}, "name": "x", "owner": "1"},
      {"tags": {"a": "b"}, "name": "y", "owner": "self"},
      {"tags": {"a": "b"}, "name": "y", "owner": "1"}]),
    ("instanceProfile", "", "instanceProfile", "nodes"),
    ("context", "context: c", "context", "c"),
    ("userData", "userData: u", "userData", "u"),
    ("tags", "tags: {a: b}", "tags", {"a": "b"}),
    ("tags of the controller", ("tags: {a: b, karpenter.sh/managed-by: x, "
     "kubernetes.io/cluster/c: owned}"), "tags", {"a": "b"}),
    ("tags of the controller alone", "tags: {karpenter.sh/managed-by: x}", "tags", None),
    ("detailedMonitoring", "detailedMonitoring: true", "detailedMonitoring", True),
    ("metadataOptions, absent", "", "metadataOptions", HOPS),
    ("metadataOptions, hop limit absent", "metadataOptions: {httpTokens: optional}",
     "metadataOptions", {"httpTokens": "optional", **HOPS}),
    ("metadataOptions", "metadataOptions: {httpPutResponseHopLimit: 3}", "metadataOptions",
     {"httpPutResponseHopLimit": 3}),
    ("blockDeviceMappings", "blockDeviceMappings: [{deviceName: d, ebs: {volumeSize: 1Gi}}]",
     "blockDeviceMappings", [{"deviceName": "d", "ebs": {"volumeSize": "1Gi"}}]),
)  # fmt: skip
# The same for the spec of an EC2NodeClass of v1beta1.
CLASSES: Final[tuple[tuple[str, str, str, Any], ...]] = (
    *(
        (f"{family} without terms", f"role: nodes, amiFamily: {family}", "amiSelectorTerms",
         [{"alias": f"{family.lower()}@latest"}])
        for family in ("AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022")
    ),
    ("AL2023 without terms loses its family", "role: nodes, amiFamily: AL2023", "amiFamily", None),
    ("terms keep the family", "role: nodes, amiFamily: AL2023, amiSelectorTerms: [{id: ami-1}]",
     "amiFamily", "AL2023"),
    ("terms", "role: nodes, amiFamily: AL2023, amiSelectorTerms: [{name: n, owner: self}]",
     "amiSelectorTerms", [{"name": "n", "owner": "self"}]),
    ("Ubuntu with terms", "role: nodes, amiFamily: Ubuntu, amiSelectorTerms: [{id: ami-1}]",
     "amiFamily", "AL2"),
    ("Ubuntu with terms, disk",
     "role: nodes, amiFamily: Ubuntu, amiSelectorTerms: [{id: ami-1}]", "blockDeviceMappings",
     [UBUNTU_DISK]),
    ("metadataOptions, absent", ROLE, "metadataOptions", HOPS),
    ("role", ROLE, "role", "nodes"),
    ("instanceProfile", "instanceProfile: p, amiFamily: AL2", "instanceProfile", "p"),
    ("subnetSelectorTerms", f"{ROLE}, subnetSelectorTerms: [{{tags: {{a: b}}}}]",
     "subnetSelectorTerms", [{"tags": {"a": "b"}}]),
    ("securityGroupSelectorTerms", f"{ROLE}, securityGroupSelectorTerms: [{{name: a}}]",
     "securityGroupSelectorTerms", [{"name": "a"}]),
    ("associatePublicIPAddress", f"{ROLE}, associatePublicIPAddress: false",
     "associatePublicIPAddress", False),
    ("instanceStorePolicy", f"{ROLE}, instanceStorePolicy: RAID0", "instanceStorePolicy", "RAID0"),
    ("userData", f"{ROLE}, userData: u", "userData", "u"),
    ("tags of the controller", f"{ROLE}, tags: {{karpenter.sh/managed-by: x, a: b}}", "tags",
     {"a": "b"}),
    ("blockDeviceMappings", f"{ROLE}, blockDeviceMappings: [{{deviceName: d, rootVolume: true}}]",
     "blockDeviceMappings", [{"deviceName": "d", "rootVolume": True}]),
    ("detailedMonitoring", f"{ROLE}, detailedMonitoring: true", "detailedMonitoring", True),
    ("context", f"{ROLE}, context: c", "context", "c"),
)  # fmt: skip
NOTICES: Final = {
    "pinned alias": (template(), "spec.amiFamily: images are those of al2@latest"),
    "hop limit": (template(), "spec.metadataOptions.httpPutResponseHopLimit: absent, it was 2"),
    "ids exclude tags": (
        template("subnetSelector: {aws-ids: subnet-1, a: b}"),
        "spec.subnetSelector: a term with ids has nothing else in v1: a is left out",
    ),
    "names exclude tags": (
        template("securityGroupSelector: {'aws::name': x, a: b}"),
        "spec.securityGroupSelector: a term with names has nothing else in v1: a is left out",
    ),
    "no names of subnets": (
        template("subnetSelector: {'aws::name': x, a: b}"),
        "spec.subnetSelector.aws::name: v1 does not select by it here",
    ),
    "tags of the controller": (
        template("tags: {karpenter.sh/managed-by: x}"),
        "spec.tags.karpenter.sh/managed-by: the controller sets it",
    ),
    "Ubuntu": (
        template("amiFamily: Ubuntu, amiSelector: {a: b}"),
        "spec.amiFamily: v1 has no family Ubuntu",
    ),
    "status": (
        template().replace("---", "status: {amis: []}\n---"),
        "status: the controller computes it anew",
    ),
    "status of v1beta1": (
        node_class(ROLE).replace("---", "status: {amis: []}\n---"),
        "status: the controller computes it anew",
    ),
    "inline provider": (
        provisioner("provider: {instanceProfile: x}"),
        "spec.provider.amiFamily: images are those of al2@latest",
    ),
    "unknown field of an inline provider": (
        provisioner("provider: {instanceProfile: x, cluster: {name: a}}"),
        "spec.provider.cluster: is no field of this version",
    ),
}
ERRORS: Final = {
    "launchTemplate": (template("launchTemplate: lt"), "spec.launchTemplate: v1 takes no launch"),
    "launchTemplate of an inline provider": (
        provisioner("provider: {launchTemplate: lt}"),
        "spec.provider.launchTemplate: v1 takes no launch template",
    ),
    "Ubuntu without terms": (
        template("amiFamily: Ubuntu"),
        "spec.amiFamily: v1 finds no images of Ubuntu by itself",
    ),
    "Ubuntu of v1beta1 without terms": (
        node_class("role: nodes, amiFamily: Ubuntu"),
        "spec.amiFamily: v1 finds no images of Ubuntu by itself",
    ),
    "Custom without terms": (
        node_class("role: nodes, amiFamily: Custom"),
        "spec.amiFamily: Custom finds no images by itself",
    ),
    "unknown family": (
        template("amiFamily: Debian"),
        "spec.amiFamily: is 'Debian'; expected one of AL2, AL2023, Bottlerocket",
    ),
    "neither role nor profile": (
        template(identity=""),
        "spec.instanceProfile: names no identity of nodes, nor is there a role",
    ),
    "neither role nor profile in v1beta1": (
        node_class("amiFamily: AL2"),
        "spec.instanceProfile: names no identity of nodes",
    ),
    "more combinations than terms": (
        template(f"subnetSelector: {{a: '{','.join('abcdef')}', b: '{','.join('abcdef')}'}}"),
        "spec.subnetSelector: needs 36 terms",
    ),
    "more combinations than memory": (
        template("subnetSelector: {" + ", ".join(f"t{n}: '{'1,' * 99}1'" for n in range(9)) + "}"),
        "spec.subnetSelector: needs 1000000000000000000 terms",
    ),
    "a selector that is a list": (template("subnetSelector: [a]"), "spec.subnetSelector: expected"),
    "a class with a tag that is a number": (
        node_class(f"{ROLE}, tags: {{a: 1}}"),
        "spec.tags[...]: expected `str`, got `int`",
    ),
    "a class of an unknown version": (
        node_class(ROLE).replace("v1beta1", "v1beta2"),
        "apiVersion: there is no EC2NodeClass of version 'v1beta2'; expected v1beta1",
    ),
}


@pytest.mark.parametrize(
    ("spec", "field", "want"), [row[1:] for row in TEMPLATES], ids=[row[0] for row in TEMPLATES]
)
def test_a_field_of_a_template_becomes_what_it_meant(spec: str, field: str, want: object) -> None:
    """One for each rule."""
    got = converted(template(spec))
    assert got.errors == []
    assert got.value("EC2NodeClass", f"spec.{field}") == want


@pytest.mark.parametrize(
    ("spec", "field", "want"), [row[1:] for row in TEMPLATES], ids=[row[0] for row in TEMPLATES]
)
def test_an_inline_provider_becomes_what_a_template_does(
    spec: str, field: str, want: object
) -> None:
    """It has the same fields."""
    inline = ", ".join(part for part in ("instanceProfile: nodes", spec) if part)
    got = converted(provisioner(f"provider: {{{inline}}}"))
    assert got.errors == []
    assert got.value("EC2NodeClass", f"spec.{field}") == want


@pytest.mark.parametrize(
    ("spec", "field", "want"), [row[1:] for row in CLASSES], ids=[row[0] for row in CLASSES]
)
def test_a_field_of_a_class_becomes_what_it_meant(spec: str, field: str, want: object) -> None:
    """One for each rule."""
    got = converted(node_class(spec))
    assert got.errors == []
    assert got.value("EC2NodeClass", "apiVersion") == "karpenter.k8s.aws/v1"
    assert got.value("EC2NodeClass", f"spec.{field}") == want


@pytest.mark.parametrize(("text", "want"), NOTICES.values(), ids=list(NOTICES))
def test_what_has_no_equal_is_told(text: str, want: str) -> None:
    """With the field, and what to do."""
    got = converted(text)
    assert [one for one in got.notices if want in one], got.notices


@pytest.mark.parametrize(("text", "want"), ERRORS.values(), ids=list(ERRORS))
def test_what_cannot_be_converted_stays(text: str, want: str) -> None:
    """The error names the field, and what was expected."""
    got = converted(text)
    assert [one for one in got.errors if want in one], got.errors
    assert not got.trees[0]["apiVersion"].endswith("/v1")


@pytest.mark.parametrize(
    ("options", "want"),
    [
        pytest.param({"role": "r"}, {"role": "r"}, id="role"),
        pytest.param({"instance_profile": "i"}, {"instanceProfile": "i"}, id="profile"),
        pytest.param({"is_for_reading": True}, {"role": "unknown"}, id="only read"),
    ],
)
def test_an_identity_can_be_given(options: dict[str, Any], want: dict[str, str]) -> None:
    """For classes that name none."""
    got = converted(template(identity=""), **options)
    spec = got.trees[0]["spec"]
    assert {key: spec[key] for key in spec if key in {"role", "instanceProfile"}} == want
