from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.decide.sieve.wishes import Said, pod_wishes, satisfiable, with_volumes, without
from dovetail.model.pod import PodSpec
from dovetail.model.requirements import requirement
from dovetail.model.topology import NodeTerm
from dovetail.model.volumes import NO_VOLUMES, PodVolumes

A = requirement("k", "In", ["a"])
B = requirement("k", "In", ["b"])
NOT_A = requirement("k", "NotIn", ["a"])
ABSENT = requirement("k", "DoesNotExist")


def test_a_selector_is_part_of_every_alternative() -> None:
    """nodeSelector and each required term hold together; old spellings are normalized."""
    spec = PodSpec(
        {},
        node_selector={"beta.kubernetes.io/arch": "arm64"},
        required_terms=(NodeTerm((A, A)), NodeTerm(), NodeTerm(fields=(A,))),
    )
    arch = (requirement(labels.ARCH, "In", ["arm64"]),)
    field = requirement(labels.NODE_NAME_FIELD, "In", ["a"])
    assert pod_wishes(spec) == (
        {"k": (A,), labels.ARCH: arch},
        {labels.ARCH: arch, labels.NODE_NAME_FIELD: (field,)},
    )


def test_volumes_multiply_the_alternatives() -> None:
    """One alternative of each is added, in all combinations; an empty one selects nothing."""
    wishes = pod_wishes(PodSpec({}))
    volumes = PodVolumes(
        alternatives=((NodeTerm((A,)), NodeTerm((B,))), (NodeTerm((A,)), NodeTerm()))
    )
    assert with_volumes(wishes, volumes) == ({"k": (A,)}, {"k": (B, A)})
    assert with_volumes(wishes, NO_VOLUMES) is wishes


def test_volumes_with_endless_alternatives_are_cut_off() -> None:
    """An explanation must not take for ever."""
    many = tuple(NodeTerm((requirement("k", "In", [str(n)]),)) for n in range(20))
    got = with_volumes(pod_wishes(PodSpec({})), PodVolumes(alternatives=(many, many, many)))
    assert len(got) == 256


@pytest.mark.parametrize(
    ("said", "want"),
    [
        pytest.param((A,), True, id="one value"),
        pytest.param((A, B), False, id="two values at once"),
        pytest.param((A, NOT_A), False, id="a value and its exclusion"),
        pytest.param((ABSENT,), True, id="absence"),
        pytest.param((ABSENT, NOT_A), True, id="absence twice"),
        pytest.param((ABSENT, requirement("k", "Exists")), False, id="absence and presence"),
        pytest.param(
            (requirement("k", "Gt", ["3"]), requirement("k", "Lt", ["3"])),
            False,
            id="crossed bounds",
        ),
    ],
)
def test_what_is_said_of_a_label_must_be_true_of_one_node(
    said: Said,
    want: bool,  # noqa: FBT001  a table column
) -> None:
    """One value, or none, for everything said."""
    assert satisfiable(said) is want


def test_a_waived_label_is_not_asked_for() -> None:
    """Nothing else changes."""
    assert without({"k": (A,), "l": (B,)}, frozenset({"k"})) == {"l": (B,)}
