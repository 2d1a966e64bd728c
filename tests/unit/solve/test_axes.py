from __future__ import annotations

import re
from dataclasses import fields

import numpy as np
import pytest

from dovetail.solve import axes
from dovetail.solve.axes import UNLIMITED
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.existing import SharedClaims
from dovetail.solve.encoding.ties import HostTerm, Ties, ZoneTerm
from dovetail.solve.program.assignment import Assignment, Program
from dovetail.solve.program.lots import Classes
from dovetail.solve.program.multipliers import Values
from dovetail.solve.zones.quotas import Outlook

LETTERS = dict(re.findall(r"^([a-z])  (\w+)", axes.__doc__ or "", flags=re.MULTILINE))


ARRAYS = (
    Encoded,
    SharedClaims,
    Ties,
    HostTerm,
    ZoneTerm,
    Outlook,
    Program,
    Assignment,
    Classes,
    Values,
)


@pytest.mark.parametrize("kind", ARRAYS)
def test_the_letters_of_every_array_are_explained(kind: type) -> None:
    """What an array is about is in its name, and every letter in one list."""
    suffixes = {
        name: name.rpartition("_")[2]
        for name in (one.name for one in fields(kind))
        if re.fullmatch(r"\w+_[a-z]{1,2}", name) and not name.endswith("_of")
    }
    assert suffixes
    unexplained = {name for name, suffix in suffixes.items() if not set(suffix) <= set(LETTERS)}
    assert not unexplained


def test_unlimited_amounts_can_be_added_up() -> None:
    """A few of them are still a positive number, and more than any machine has."""
    assert np.int64(4) * UNLIMITED > 0
    assert UNLIMITED > 1 << 50
