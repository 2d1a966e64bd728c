"""Catalogues as files in the kwok format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail import labels
from dovetail.cloud.catalogue_file import read, render
from dovetail.errors import InputError
from dovetail.model.instance import InstanceType
from dovetail.model.requirements import Operator
from dovetail.providers.aws.catalogue import offline as aws
from dovetail.providers.kwok import catalogue as generic

Entry = dict[str, object]


def offering(capacity_type: str = "on-demand", zone: str = "zone-a", **overrides: object) -> Entry:
    """An offering as files state it."""
    return {
        "Price": 0.12,
        "Available": True,
        "Requirements": [
            {"key": labels.CAPACITY_TYPE, "operator": "In", "values": [capacity_type]},
            {"key": labels.ZONE, "operator": "In", "values": [zone]},
        ],
        **overrides,
    }


def entry(**overrides: object) -> Entry:
    """An instance type as files state it."""
    return {
        "name": "m5.xlarge",
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": "4", "memory": "16Gi"},
        "offerings": [offering()],
        **overrides,
    }


def read_entries(tmp_path: Path, *entries: object) -> tuple[InstanceType, ...]:
    """What a file with these entries reads as."""
    path = tmp_path / "types.json"
    path.write_text(json.dumps(entries))
    return read(path)


@pytest.mark.parametrize(
    "types",
    [
        pytest.param(generic.instance_types(), id="generic"),
        pytest.param(aws.instance_types(), id="aws"),
    ],
)
def test_what_is_written_reads_back_as_the_same_types(
    types: tuple[InstanceType, ...], tmp_path: Path
) -> None:
    """Labels, overhead, attach limits, prices and availability included."""
    path = tmp_path / "types.json"
    path.write_text(render(types))
    assert read(path) == types


def test_pods_and_overhead_have_defaults(tmp_path: Path) -> None:
    """110 pods; 100m cpu and 10 MiB are kept back."""
    (one,) = read_entries(tmp_path, entry())
    assert one.capacity == {"cpu": 4000, "memory": 16 * 2**30, "pods": 110}
    assert one.allocatable == {"cpu": 3900, "memory": 16 * 2**30 - 10 * 2**20, "pods": 110}


def test_stated_overhead_replaces_the_default_whole(tmp_path: Path) -> None:
    """And allocatable never falls below zero."""
    (one,) = read_entries(tmp_path, entry(overhead={"memory": "20Gi"}))
    assert (one.allocatable["cpu"], one.allocatable["memory"]) == (4000, 0)


def test_huge_pages_come_out_of_memory(tmp_path: Path) -> None:
    """As kubelet counts them; written and read again they still do."""
    resources = {"cpu": "4", "memory": "16Gi", "hugepages-2Mi": "1Gi"}
    types = read_entries(tmp_path, entry(resources=resources))
    assert types[0].allocatable["memory"] == 15 * 2**30 - 10 * 2**20
    path = tmp_path / "again.json"
    path.write_text(render(types))
    assert read(path) == types


def test_labels_are_derived_unless_they_are_stated(tmp_path: Path) -> None:
    """A value, several, or null for a label that the type does not have."""
    stated = {
        "karpenter.kwok.sh/instance-family": "mine",
        "karpenter.kwok.sh/instance-memory": None,
        "example.com/disk": ["ssd", "hdd"],
    }
    (one,) = read_entries(tmp_path, entry(labels=stated))
    held = one.requirements
    assert held["karpenter.kwok.sh/instance-size"].values == {"xlarge"}
    assert held["karpenter.kwok.sh/instance-cpu"].values == {"4"}
    assert held["karpenter.kwok.sh/instance-family"].values == {"mine"}
    assert held["karpenter.kwok.sh/instance-memory"].operator is Operator.DOES_NOT_EXIST
    assert held["example.com/disk"].values == {"hdd", "ssd"}
    assert held[labels.ZONE].values == {"zone-a"}


def test_an_offering_that_is_not_available_is_kept_as_such(tmp_path: Path) -> None:
    """Its price still tells what an existing node costs."""
    (one,) = read_entries(tmp_path, entry(offerings=[offering(Available=False)]))
    assert [held.is_available for held in one.offerings] == [False]


def test_a_reserved_offering_knows_its_reservation_and_what_is_left(tmp_path: Path) -> None:
    """Whichever provider's label names it; elsewhere the count means nothing."""
    fixed = [
        {"key": labels.CAPACITY_TYPE, "operator": "In", "values": ["reserved"]},
        {"key": labels.ZONE, "operator": "In", "values": ["zone-a"]},
        {"key": labels.RESERVATION_ID, "operator": "In", "values": ["cr-7"]},
    ]
    types = read_entries(
        tmp_path,
        entry(
            offerings=[
                offering(Requirements=fixed, ReservationCapacity=3),
                offering("reserved", "zone-b", ReservationCapacity=2),
                offering("spot", ReservationCapacity=9),
            ]
        ),
    )
    assert [(one.reservation_id, one.reservation_capacity) for one in types[0].offerings] == [
        ("cr-7", 3),
        ("m5.xlarge/zone-b", 2),
        ("", 0),
    ]
    path = tmp_path / "again.json"
    path.write_text(render(types))
    assert read(path) == types


def test_entries_that_differ_only_in_system_are_one_type(tmp_path: Path) -> None:
    """As the reference's own example lists them; EC2's names of architectures are understood."""
    types = read_entries(
        tmp_path,
        entry(architecture="x86_64"),
        entry(operatingSystems=["windows"]),
    )
    assert [one.name for one in types] == ["m5.xlarge"]
    assert types[0].requirements[labels.OS].values == {"linux", "windows"}
    assert types[0].requirements[labels.ARCH].values == {"amd64"}


def requirement_of(operator: str, *values: str) -> list[Entry]:
    """One requirement on the zone."""
    return [{"key": labels.ZONE, "operator": operator, "values": [*values]}]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        pytest.param([3], r"types.json: instance type 1: Expected", id="not an object"),
        pytest.param([entry(name="")], r"1: name: is empty", id="no name"),
        pytest.param([entry(architecture=1)], r"\(m5.xlarge\): architecture: ", id="a number"),
        pytest.param([entry(operatingSystems=[])], r"operatingSystems: is empty", id="no system"),
        pytest.param([entry(resources={"cpu": "4"})], r"resources.memory: is m", id="no memory"),
        pytest.param(
            [entry(), entry(name="b", resources={"cpu": "4x", "memory": "1"})],
            r"instance type 2 \(b\): resources.cpu: '4x' is not a quantity",
            id="bad quantity",
        ),
        pytest.param(
            [entry(overhead={"cpu": "-1"})], r"overhead.cpu: expected no less", id="negative"
        ),
        pytest.param(
            [entry(attachLimits={"x": -1})], r"attachLimits.x: expected", id="negative limit"
        ),
        pytest.param(
            [entry(offerings=[offering(), offering(Price=-1)])],
            r"offerings\[1\].Price: expected dollars per hour from 0",
            id="negative price",
        ),
        pytest.param(
            [entry(offerings=[offering(Price="free")])], r"offerings\[0\].Price: ", id="no price"
        ),
        pytest.param(
            [entry(offerings=[offering("lease")])],
            r"offerings\[0\].Requirements: karpenter.sh/capacity-type: expected one of reserved",
            id="unknown capacity type",
        ),
        pytest.param(
            [entry(offerings=[offering(Requirements=requirement_of("Is", "a"))])],
            r"Requirements\[0\].operator: expected one of In, .* not 'Is'",
            id="unknown operator",
        ),
        pytest.param(
            [entry(offerings=[offering(Requirements=requirement_of("Gt", "a"))])],
            r"Requirements\[0\].values: .* exactly one integer",
            id="bound without a number",
        ),
        pytest.param(
            [entry(offerings=[offering(Requirements=requirement_of("In", "a", "b"))])],
            r"Requirements: expected topology.kubernetes.io/zone In with exactly one value",
            id="two zones",
        ),
        pytest.param(
            [entry(), entry(resources={"cpu": "8", "memory": "16Gi"})],
            r"2 \(m5.xlarge\): name: an earlier entry has this name",
            id="one name, two types",
        ),
    ],
)
def test_a_wrong_entry_is_named_with_file_and_field(
    entries: list[object], message: str, tmp_path: Path
) -> None:
    """And with what was expected instead."""
    with pytest.raises(InputError, match=message):
        read_entries(tmp_path, *entries)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"{}", "expected a JSON list", id="not a list"),
        pytest.param(b"[]", "holds no instance types", id="empty list"),
        pytest.param(b"", "expected a JSON list", id="empty file"),
        pytest.param(b"\xff\xfe\x00", "expected a JSON list", id="binary"),
        pytest.param(b"[" * 100_000, "expected a JSON list", id="endless nesting"),
        pytest.param(b"[" + b'{"name":' * 9_000, "expected a JSON list", id="nested objects"),
    ],
)
def test_a_file_that_is_no_catalogue_is_refused(
    content: bytes, message: str, tmp_path: Path
) -> None:
    """With its path and what was expected."""
    path = tmp_path / "types.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"types\.json: {message}"):
        read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A directory is no file either."""
    with pytest.raises(InputError, match=r"gone\.json: cannot be read: No such file"):
        read(tmp_path / "gone.json")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read(tmp_path)
