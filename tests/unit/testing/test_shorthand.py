from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.model.requirements import requirement
from dovetail.model.taints import Taint, Toleration
from dovetail.model.topology import HostPort, NodeTerm
from dovetail.testing import shorthand


def test_short_names_stand_for_well_known_labels() -> None:
    """`zone In a, b` is a requirement on the zone label."""
    want = requirement(labels.ZONE, "In", ["a", "b"])
    assert shorthand.expression("zone In a, b") == want


def test_any_other_key_stands_for_itself() -> None:
    """A key that is no short name is a label key."""
    assert shorthand.expression("team Exists") == requirement("team", "Exists")


def test_an_unknown_operator_is_refused_with_an_example() -> None:
    """The message shows how a requirement is written."""
    with pytest.raises(ValueError, match="zone In a, b"):
        shorthand.expression("zone Near a")


def test_the_name_of_a_node_is_a_field_not_a_label() -> None:
    """`name In n1` reaches matchFields."""
    want = NodeTerm(
        expressions=(requirement("team", "Exists"),),
        fields=(requirement(labels.NODE_NAME_FIELD, "In", ["n1"]),),
    )
    assert shorthand.term(["name In n1", "team Exists"]) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("*", Toleration(operator="Exists"), id="a star tolerates everything"),
        pytest.param("gpu", Toleration("gpu", "Exists"), id="a key tolerates all its values"),
        pytest.param(
            "gpu=a:NoSchedule",
            Toleration("gpu", "Equal", "a", "NoSchedule"),
            id="a taint tolerates itself",
        ),
        pytest.param("tier > 3", Toleration("tier", "Gt", "3"), id="greater"),
        pytest.param("tier < 3", Toleration("tier", "Lt", "3"), id="less"),
    ],
)
def test_tolerations_are_written_in_one_word(text: str, want: Toleration) -> None:
    """Each spelling means one toleration."""
    assert shorthand.toleration(text) == want


def test_a_taint_needs_a_known_effect() -> None:
    """A slip in the effect is refused rather than ignored."""
    assert shorthand.taint("a=b:NoExecute") == Taint("a", "b", "NoExecute")
    with pytest.raises(ValueError, match="dedicated=gpu:NoSchedule"):
        shorthand.taint("a=b:Sometimes")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(8080, HostPort(8080), id="a number"),
        pytest.param("53/UDP", HostPort(53, "UDP"), id="with a protocol"),
        pytest.param("10.0.0.1:80", HostPort(80, "TCP", "10.0.0.1"), id="with an address"),
    ],
)
def test_host_ports_are_written_as_people_write_them(text: str | int, want: HostPort) -> None:
    """Number, protocol and address, as far as they matter."""
    assert shorthand.host_port(text) == want


def test_amounts_become_exact_integers() -> None:
    """Cpu in thousandths, memory in bytes."""
    got = shorthand.resources({"cpu": "1.5", "memory": "1Gi", "nvidia.com/gpu": 2})
    assert got == {"cpu": 1500, "memory": 2**30, "nvidia.com/gpu": 2}
