"""Node classes that the rules accept and refuse, by field; the real API server judges them too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tests.unit.api.manifests import spoiled

Tree = dict[str, Any]

SOUND: Final[Tree] = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "default"},
    "spec": {
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "web"}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "*"}}],
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "role": "nodes",
    },
}
PRIMARY: Final[Tree] = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
METADATA: Final[Tree] = {
    "httpEndpoint": "enabled",
    "httpProtocolIPv6": "disabled",
    "httpPutResponseHopLimit": 1,
    "httpTokens": "required",
}


@dataclass(frozen=True)
class Case:
    """A class with other fields; refused with this message at this field, or else accepted."""

    name: str
    changes: Tree
    field: str = ""
    message: str = ""

    @property
    def tree(self) -> Tree:
        """The whole object."""
        tree = dict(SOUND)
        for path, value in self.changes.items():
            tree = spoiled(tree, f"spec.{path}", value)
        return tree


def fine(name: str, **changes: Any) -> Case:
    """A class that is accepted."""
    return Case(name, changes)


def bad(name: str, field: str, message: str, **changes: Any) -> Case:
    """A class that is refused at a field, with a part of the message."""
    return Case(name, changes, f"spec.{field}" if field else "spec", message)


def _terms(field: str, *terms: Tree) -> Tree:
    return {field: list(terms)}


def _subnets(*terms: Tree) -> Tree:
    return _terms("subnetSelectorTerms", *terms)


def _groups(*terms: Tree) -> Tree:
    return _terms("securityGroupSelectorTerms", *terms)


def _reservations(*terms: Tree) -> Tree:
    return _terms("capacityReservationSelectorTerms", *terms)


def _images(*terms: Tree, **more: str) -> Tree:
    return _terms("amiSelectorTerms", *terms) | {"amiFamily": "AL2023"} | more


def _many(term: Tree, count: int) -> list[Tree]:
    return [term] * count


TAGS: Final = {f"k{number}": "v" for number in range(21)}
SUBNETS: Final = "subnetSelectorTerms"
GROUPS: Final = "securityGroupSelectorTerms"
RESERVATIONS: Final = "capacityReservationSelectorTerms"
IMAGES: Final = "amiSelectorTerms"


ROWS: Final[dict[str, tuple[Case, ...]]] = {
    "subnetSelectorTerms": (
        fine("tags", **_subnets({"tags": {"a": "b", "c": "*"}})),
        fine("an id", **_subnets({"id": "subnet-0a1b"})),
        fine("thirty terms", **_subnets(*_many({"id": "subnet-1"}, 30))),
        bad("none", "", "at least one of subnetSelectorTerms", **_subnets()),
        bad("absent", "", "at least one of subnetSelectorTerms", subnetSelectorTerms=...),
        bad("too many", SUBNETS, "at most 30", **_subnets(*_many({"id": "subnet-1"}, 31))),
        bad("an empty term", f"{SUBNETS}[0]", "at least one of tags, id", **_subnets({})),
        bad("no tags", f"{SUBNETS}[0]", "at least one of tags, id", **_subnets({"tags": {}})),
        bad("no value", f"{SUBNETS}[0].tags", "a key and a value", **_subnets({"tags": {"a": ""}})),
        bad("no key", f"{SUBNETS}[0].tags", "a key and a value", **_subnets({"tags": {"": "a"}})),
        bad("many tags", f"{SUBNETS}[0].tags", "at most 20", **_subnets({"tags": TAGS})),
        bad("no id", f"{SUBNETS}[0].id", "subnet-0123abcd", **_subnets({"id": "sg-1"})),
        bad("an id with more", f"{SUBNETS}[0].id", "subnet-", **_subnets({"id": "x-subnet-1"})),
        bad("an empty id", f"{SUBNETS}[0].id", "length >= 1", **_subnets({"id": ""})),
        bad(
            "a sound term does not excuse another one",
            f"{SUBNETS}[1]",
            "id alone",
            **_subnets({"id": "subnet-1"}, {"id": "subnet-2", "tags": {"a": "b"}}),
        ),
    ),
    "securityGroupSelectorTerms": (
        fine("tags", **_groups({"tags": {"a": "*"}})),
        fine("an id", **_groups({"id": "sg-0a1b"})),
        fine("a name", **_groups({"name": "nodes"})),
        fine("an id and an empty name", **_groups({"id": "sg-1", "name": ""})),
        bad("none", "", "at least one of securityGroupSelectorTerms", **_groups()),
        bad("absent", "", "at least one of security", securityGroupSelectorTerms=...),
        bad("too many", GROUPS, "at most 30", **_groups(*_many({"id": "sg-1"}, 31))),
        bad("an empty term", f"{GROUPS}[0]", "tags, id, name", **_groups({})),
        bad("an empty name", f"{GROUPS}[0]", "tags, id, name", **_groups({"name": ""})),
        bad("no id", f"{GROUPS}[0].id", "sg-0123abcd", **_groups({"id": "subnet-1"})),
        bad(
            "empty value", f"{GROUPS}[0].tags", "a key and a value", **_groups({"tags": {"a": ""}})
        ),
        bad(
            "an id and tags in the second term",
            f"{GROUPS}[1]",
            "id alone",
            **_groups({"id": "sg-1"}, {"id": "sg-2", "tags": {"a": "b"}}),
        ),
        bad("an id and a name", f"{GROUPS}[0]", "id alone", **_groups({"id": "sg-1", "name": "n"})),
        bad(
            "a name and tags",
            f"{GROUPS}[0]",
            "name alone",
            **_groups({"name": "n", "tags": {"a": "b"}}),
        ),
    ),
    "capacityReservationSelectorTerms": (
        fine("none", **_reservations()),
        fine("an id", **_reservations({"id": "cr-1"})),
        fine("tags of an owner", **_reservations({"tags": {"a": "b"}, "ownerID": "123456789012"})),
        fine("criteria", **_reservations({"instanceMatchCriteria": "targeted"})),
        bad("too many", RESERVATIONS, "at most 30", **_reservations(*_many({"id": "cr-1"}, 31))),
        bad(
            "an owner alone",
            f"{RESERVATIONS}[0]",
            "at least one of tags, id, instanceMatchCriteria",
            **_reservations({"ownerID": "123456789012"}),
        ),
        bad(
            "no account",
            f"{RESERVATIONS}[0].ownerID",
            "12 digits",
            **_reservations({"tags": {"a": "b"}, "ownerID": "1234"}),
        ),
        bad("no id", f"{RESERVATIONS}[0].id", "cr-0123abcd", **_reservations({"id": "r-1"})),
        bad(
            "unknown criteria",
            f"{RESERVATIONS}[0].instanceMatchCriteria",
            "open, targeted",
            **_reservations({"instanceMatchCriteria": "closed"}),
        ),
        bad(
            "an id and an owner in the second term",
            f"{RESERVATIONS}[1]",
            "id alone",
            **_reservations({"id": "cr-1"}, {"id": "cr-2", "ownerID": "123456789012"}),
        ),
    ),
    "placementGroupSelector": (
        fine("a name", placementGroupSelector={"name": "near"}),
        fine("an id", placementGroupSelector={"id": "pg-0a1b"}),
        bad("none", "placementGroupSelector", "name or id", placementGroupSelector={}),
        bad(
            "both",
            "placementGroupSelector",
            "not both",
            placementGroupSelector={"name": "near", "id": "pg-1"},
        ),
        bad(
            "no id",
            "placementGroupSelector.id",
            "pg-0123abcd",
            placementGroupSelector={"id": "near"},
        ),
        bad(
            "empty",
            "placementGroupSelector.name",
            "length >= 1",
            placementGroupSelector={"name": ""},
        ),
    ),
    "associatePublicIPAddress": (
        fine("true", associatePublicIPAddress=True),
        fine("false", associatePublicIPAddress=False),
        bad("text", "associatePublicIPAddress", "expected `bool", associatePublicIPAddress="yes"),
    ),
    "ipPrefixCount": (
        fine("zero", ipPrefixCount=0),
        fine("some", ipPrefixCount=4),
        bad("negative", "ipPrefixCount", "at least 0", ipPrefixCount=-1),
    ),
    "amiSelectorTerms": (
        fine("an alias without a family", amiSelectorTerms=[{"alias": "bottlerocket@v1.20.0"}]),
        fine("Windows", amiSelectorTerms=[{"alias": "windows2025@latest"}]),
        fine("tags", **_images({"tags": {"a": "*"}})),
        fine("an id", **_images({"id": "ami-0a1b"})),
        fine("a name of an owner", **_images({"name": "my-*", "owner": "self"})),
        fine("a parameter", **_images({"ssmParameter": "/images/mine"})),
        fine("several", **_images({"id": "ami-1"}, {"name": "my-*"})),
        bad("none", "", "at least one of amiSelectorTerms", **_images()),
        bad("absent", "", "at least one of amiSel", amiSelectorTerms=..., amiFamily="AL2"),
        bad("too many", IMAGES, "at most 30", **_images(*_many({"id": "ami-1"}, 31))),
        bad("an owner alone", f"{IMAGES}[0]", "tags, id, name", **_images({"owner": "self"})),
        bad("no family", f"{IMAGES}[0].alias", "family@version", **_images({"alias": "al3@v1"})),
        bad("no version", f"{IMAGES}[0].alias", "family@version", **_images({"alias": "al2023@"})),
        bad("no @", f"{IMAGES}[0].alias", "family@version", **_images({"alias": "al2023"})),
        bad("two @", f"{IMAGES}[0].alias", "family@version", **_images({"alias": "al2023@a@b"})),
        bad(
            "a version of Windows",
            f"{IMAGES}[0].alias",
            "the version of Windows is latest",
            **_images({"alias": "windows2022@v1"}, amiFamily="Windows2022"),
        ),
        bad(
            "a long alias",
            f"{IMAGES}[0].alias",
            "at most 30",
            **_images({"alias": "al2023@v" + "1" * 23}),
        ),
        bad("no id", f"{IMAGES}[0].id", "ami-0123abcd", **_images({"id": "image"})),
        bad("an empty tag", f"{IMAGES}[0].tags", "a key and", **_images({"tags": {"": "a"}})),
        *(
            bad(
                f"an id and {key}",
                f"{IMAGES}[0]",
                "id alone",
                **_images({"id": "ami-1", key: value}),
            )
            for key, value in (
                ("tags", {"a": "b"}),
                ("name", "n"),
                ("owner", "self"),
                ("ssmParameter", "/p"),
            )
        ),
        *(
            bad(
                f"an alias and {key}",
                f"{IMAGES}[0]",
                "alias alone",
                **_images({"alias": "al2023@latest", key: value}),
            )
            for key, value in (
                ("id", "ami-1"),
                ("tags", {"a": "b"}),
                ("name", "n"),
                ("owner", "self"),
                ("ssmParameter", "/p"),
            )
        ),
        bad(
            "an alias beside another term",
            IMAGES,
            "the only term",
            **_images({"alias": "al2023@latest"}, {"id": "ami-1"}),
        ),
    ),
    "amiFamily": (
        *(
            fine(f"{family} by id", **_images({"id": "ami-1"}, amiFamily=family))
            for family in (
                "AL2",
                "AL2023",
                "Bottlerocket",
                "Custom",
                "Windows2019",
                "Windows2022",
                "Windows2025",
            )
        ),
        fine("that of the alias", amiFamily="AL2023"),
        fine("Custom with an alias", amiFamily="Custom"),
        bad("another than the alias", "", "the family of the alias", amiFamily="AL2"),
        bad(
            "AL2023 with an alias of AL2",
            "",
            "the family of the alias",
            amiFamily="AL2023",
            amiSelectorTerms=[{"alias": "al2@latest"}],
        ),
        bad("none without an alias", "", "expected amiFamily", amiSelectorTerms=[{"id": "ami-1"}]),
        bad(
            "unknown",
            "amiFamily",
            "expected one of AL2,",
            **_images({"id": "ami-1"}, amiFamily="U"),
        ),
        bad("empty", "amiFamily", "length >= 1", **_images({"id": "ami-1"}, amiFamily="")),
    ),
    "userData": (
        fine("text", userData="#!/bin/bash\n"),
        fine("empty", userData=""),
        bad("a number", "userData", "expected `str", userData=1),
    ),
    "role": (
        fine("a role", role="nodes"),
        bad("empty", "role", "length >= 1", role=""),
        bad("both", "", "role or instanceProfile", instanceProfile="nodes"),
        bad("neither", "", "role or instanceProfile", role=...),
    ),
    "instanceProfile": (
        fine("a profile", role=..., instanceProfile="nodes"),
        bad("empty", "instanceProfile", "is empty", role=..., instanceProfile=""),
    ),
    "tags": (
        fine("some", tags={"team": "a", "empty": ""}),
        fine("none", tags={}),
        bad("no key", "tags", "with a key", tags={"": "a"}),
        *(
            bad(f"the tag {key}", "tags", "set by the controller", tags={key: "a"})
            for key in (
                "eks:eks-cluster-name",
                "kubernetes.io/cluster/web",
                "kubernetes.io/clusters",
                "karpenter.sh/nodepool",
                "karpenter.sh/nodeclaim",
                "karpenter.k8s.aws/ec2nodeclass",
            )
        ),
    ),
    "kubelet": (
        fine("empty", kubelet={}),
        fine("any key of kubelet", kubelet={"shutdownGracePeriod": "30s", "maxPods": 10}),
        fine("an expression", kubelet={"maxPods": "vcpus * 10", "kubeReserved": {"cpu": "vcpus"}}),
        fine("thresholds", kubelet={"evictionHard": {"memory.available": "100.0%"}}),
        fine(
            "soft evictions",
            kubelet={
                "evictionSoft": {"nodefs.inodesFree": "1.5%", "pid.available": "1k"},
                "evictionSoftGracePeriod": {"nodefs.inodesFree": "1m30s", "pid.available": "0"},
            },
        ),
        bad("negative", "kubelet.maxPods", "at least 0", kubelet={"maxPods": -1}),
        bad("half", "kubelet.podsPerCore", "expected `int", kubelet={"podsPerCore": 1.5}),
        bad("no list", "kubelet.clusterDNS", "expected `array", kubelet={"clusterDNS": "a"}),
        bad(
            "resource",
            "kubelet.systemReserved",
            "no other keys",
            kubelet={"systemReserved": {"gpu": "1"}},
        ),
        bad("debt", "kubelet.kubeReserved", "begin with", kubelet={"kubeReserved": {"cpu": "-1"}}),
        bad(
            "signal", "kubelet.evictionHard", "no other keys", kubelet={"evictionHard": {"a": "5%"}}
        ),
        bad(
            "too much",
            "kubelet.evictionHard.memory.available",
            "a quantity",
            kubelet={"evictionHard": {"memory.available": "101%"}},
        ),
        bad(
            "an empty threshold",
            "kubelet.evictionHard.memory.available",
            "a quantity",
            kubelet={"evictionHard": {"memory.available": ""}},
        ),
        bad(
            "no grace period",
            "kubelet",
            "the same keys",
            kubelet={"evictionSoft": {"memory.available": "5%"}},
        ),
        bad(
            "no threshold",
            "kubelet",
            "the same keys",
            kubelet={"evictionSoftGracePeriod": {"memory.available": "5m"}},
        ),
        bad(
            "a negative grace period",
            "kubelet.evictionSoftGracePeriod.memory.available",
            "a duration",
            kubelet={
                "evictionSoft": {"memory.available": "5%"},
                "evictionSoftGracePeriod": {"memory.available": "-5m"},
            },
        ),
        bad(
            "high is not above low",
            "kubelet",
            "above imageGCLow",
            kubelet={"imageGCHighThresholdPercent": 80, "imageGCLowThresholdPercent": 80},
        ),
        bad(
            "more than a hundred",
            "kubelet.imageGCHighThresholdPercent",
            "at most 100",
            kubelet={"imageGCHighThresholdPercent": 101},
        ),
    ),
    "blockDeviceMappings": (
        fine(
            "two disks",
            blockDeviceMappings=[
                {"deviceName": "/dev/xvda", "rootVolume": True, "ebs": {"volumeSize": "20Gi"}},
                {"deviceName": "/dev/xvdb", "rootVolume": False, "ebs": {"snapshotID": "snap-1"}},
            ],
        ),
        fine("fifty", blockDeviceMappings=_many({"deviceName": "/dev/xvda"}, 50)),
        bad("too many", "blockDeviceMappings", "at most 50", blockDeviceMappings=_many({}, 51)),
        bad(
            "two root volumes",
            "blockDeviceMappings",
            "at most one rootVolume",
            blockDeviceMappings=_many({"rootVolume": True}, 2),
        ),
    ),
    "ebs": (
        *(
            fine(f"a size of {size}", blockDeviceMappings=[{"ebs": {"volumeSize": size}}])
            for size in ("1Gi", "59000Gi", "64000G", "18Ti", "58Ti", "64T", "9T")
        ),
        fine(
            "everything",
            blockDeviceMappings=[
                {
                    "ebs": {
                        "deleteOnTermination": True,
                        "encrypted": True,
                        "iops": 3000,
                        "kmsKeyID": "alias/ebs",
                        "snapshotID": "snap-1",
                        "throughput": 125,
                        "volumeInitializationRate": 100,
                        "volumeSize": "100Gi",
                        "volumeType": "gp3",
                    }
                }
            ],
        ),
        *(
            bad(
                f"a size of {size!r}",
                "blockDeviceMappings[0].ebs.volumeSize",
                "1Gi to 59000Gi",
                blockDeviceMappings=[{"ebs": {"volumeSize": size}}],
            )
            for size in ("0Gi", "59001Gi", "64001G", "59Ti", "65T", "Ti", "T", "1.5Gi", "100Mi", "")
        ),
        bad(
            "a number",
            "blockDeviceMappings[0].ebs.volumeSize",
            "expected `str",
            blockDeviceMappings=[{"ebs": {"volumeSize": 20}}],
        ),
        bad(
            "neither size nor snapshot",
            "blockDeviceMappings[0].ebs",
            "snapshotID or volumeSize",
            blockDeviceMappings=[{"ebs": {"encrypted": True}}],
        ),
        *(
            bad(
                f"a rate of {rate}",
                "blockDeviceMappings[0].ebs.volumeInitializationRate",
                "expected at",
                blockDeviceMappings=[
                    {"ebs": {"snapshotID": "snap-1", "volumeInitializationRate": rate}}
                ],
            )
            for rate in (99, 301)
        ),
        *(
            bad(
                f"a rate with {name}",
                "blockDeviceMappings[0].ebs",
                "snapshotID beside",
                blockDeviceMappings=[{"ebs": {"volumeInitializationRate": 100, **source}}],
            )
            for name, source in (
                ("a size alone", {"volumeSize": "20Gi"}),
                ("an empty snapshot", {"snapshotID": ""}),
            )
        ),
        bad(
            "an unknown type",
            "blockDeviceMappings[0].ebs.volumeType",
            "expected one of standard",
            blockDeviceMappings=[{"ebs": {"volumeSize": "20Gi", "volumeType": "gp4"}}],
        ),
    ),
    "instanceStorePolicy": (
        fine("RAID0", instanceStorePolicy="RAID0"),
        bad("RAID1", "instanceStorePolicy", "one of RAID0", instanceStorePolicy="RAID1"),
    ),
    "networkInterfaces": (
        fine("none", networkInterfaces=[]),
        fine("one", networkInterfaces=[PRIMARY]),
        fine(
            "EFA on two cards",
            networkInterfaces=[
                PRIMARY,
                {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"},
                {"networkCardIndex": 1, "deviceIndex": 0, "interfaceType": "efa-only"},
            ],
        ),
        bad(
            "no primary one",
            "networkInterfaces",
            "card 0 and device 0",
            networkInterfaces=[PRIMARY | {"deviceIndex": 1}],
        ),
        bad(
            "EFA as the primary one",
            "networkInterfaces",
            "card 0 and device 0",
            networkInterfaces=[PRIMARY | {"interfaceType": "efa-only"}],
        ),
        bad("twice", "networkInterfaces", "at most one interface", networkInterfaces=[PRIMARY] * 2),
        bad(
            "two EFA on a card",
            "networkInterfaces",
            "at most one efa-only",
            networkInterfaces=[
                PRIMARY,
                *(
                    {"networkCardIndex": 1, "deviceIndex": device, "interfaceType": "efa-only"}
                    for device in (0, 1)
                ),
            ],
        ),
        bad(
            "too many",
            "networkInterfaces",
            "at most 150",
            networkInterfaces=[PRIMARY | {"deviceIndex": index} for index in range(151)],
        ),
        bad(
            "an unknown type",
            "networkInterfaces[1].interfaceType",
            "one of interface, efa-only",
            networkInterfaces=[PRIMARY, PRIMARY | {"deviceIndex": 1, "interfaceType": "efa"}],
        ),
        bad(
            "a negative index",
            "networkInterfaces[1].deviceIndex",
            "at least 0",
            networkInterfaces=[PRIMARY, PRIMARY | {"deviceIndex": -1}],
        ),
    ),
    "detailedMonitoring": (
        fine("true", detailedMonitoring=True),
        bad("a number", "detailedMonitoring", "expected `bool", detailedMonitoring=1),
    ),
    "metadataOptions": (
        fine("the defaults", metadataOptions=METADATA),
        fine(
            "a far hop", metadataOptions={"httpPutResponseHopLimit": 64, "httpTokens": "optional"}
        ),
        fine("nothing said", metadataOptions={}),
        *(
            bad(
                f"{key} {value}",
                f"metadataOptions.{key}",
                "expected",
                metadataOptions={key: value},
            )
            for key, value in (
                ("httpPutResponseHopLimit", 0),
                ("httpPutResponseHopLimit", 65),
                ("httpTokens", "never"),
                ("httpEndpoint", "on"),
                ("httpProtocolIPv6", "on"),
            )
        ),
    ),
    "connectionTracking": (
        fine("one", connectionTracking={"tcpEstablishedTimeout": 60}),
        fine(
            "the longest",
            connectionTracking={
                "tcpEstablishedTimeout": 432000,
                "udpStreamTimeout": 180,
                "udpTimeout": 60,
            },
        ),
        bad("none", "connectionTracking", "at least one of tcp", connectionTracking={}),
        *(
            bad(
                f"{key} {value}",
                f"connectionTracking.{key}",
                "expected at",
                connectionTracking={key: value},
            )
            for key, value in (
                ("tcpEstablishedTimeout", 59),
                ("tcpEstablishedTimeout", 432001),
                ("udpStreamTimeout", 59),
                ("udpStreamTimeout", 181),
                ("udpTimeout", 29),
                ("udpTimeout", 61),
            )
        ),
    ),
    "context": (
        fine("text", context="reserved"),
        bad("a number", "context", "expected `str", context=1),
    ),
    "cpuOptions": (
        fine("enabled", cpuOptions={"nestedVirtualization": "enabled"}),
        fine("nothing said", cpuOptions={}),
        bad(
            "unknown",
            "cpuOptions.nestedVirtualization",
            "one of enabled, disabled",
            cpuOptions={"nestedVirtualization": "on"},
        ),
    ),
}
