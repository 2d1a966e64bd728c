"""Equal values held once, in bounded room."""

from __future__ import annotations

from dovetail.kube.typed import Shared


def test_equal_values_become_one() -> None:
    """The first stays; one that only shares its key is left alone."""
    shared: Shared[tuple[int, ...]] = Shared(10)
    first, second, other = tuple(range(2)), tuple(range(2)), tuple(range(3))
    assert shared.equal(7, first) is first
    assert shared.equal(7, second) is first
    assert shared.equal(7, other) is other


def test_what_is_met_again_and_again_is_never_forgotten() -> None:
    """However much else passes by, in bounded room."""
    shared: Shared[list[int]] = Shared(10)
    kept: list[int] = []
    shared.put("kept", kept)
    for at in range(1000):
        shared.put(at, [at])
        assert shared.get("kept") is kept
    assert len(shared) <= 20
    assert shared.get(0) is None
