from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.decide import decide
from dovetail.model.plan import Launch
from dovetail.solve.encoding.limits import Use
from dovetail.solve.launching import headroom
from dovetail.testing.builders import deployment, instance_type, node_pool, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = (4, 8, 16)
TYPES = tuple(
    instance_type(f"t{size}", cpu=size, memory=f"{4 * size}Gi", price=size / 20) for size in SIZES
)


def launches(n_pods: int, **limits: object) -> tuple[Launch, ...]:
    """What is launched for so many pods of 3 CPUs, each on a node of its own."""
    apart = [{"topology_key": "hostname"}]
    pods = deployment(n_pods, cpu=3, anti_affinity=apart)
    return decide(snapshot(pods, node_pools=[node_pool(limits=limits)], types=TYPES), NOW).launches


def listed(n_pods: int, **limits: object) -> list[tuple[str, ...]]:
    """The types of each launch."""
    return sorted(one.instance_types for one in launches(n_pods, **limits))


@pytest.mark.parametrize(
    ("cpu", "want"),
    [
        pytest.param(12, [1, 1, 1], id="nothing beyond what is planned"),
        pytest.param(15, [1, 1, 1], id="less than a larger type takes"),
        pytest.param(16, [1, 1, 2], id="enough for one"),
        pytest.param(20, [1, 2, 2], id="enough for two"),
        pytest.param(24, [2, 2, 2], id="the next size for all"),
        pytest.param(32, [2, 2, 3], id="and the largest for one"),
        pytest.param(48, [3, 3, 3], id="enough for everything"),
        pytest.param(1000, [3, 3, 3], id="plenty"),
    ],
)
def test_what_limits_leave_goes_to_larger_types_in_turns(cpu: int, want: list[int]) -> None:
    """Each launch gets its next size before another gets two."""
    assert sorted(len(types) for types in listed(3, cpu=cpu)) == want


def test_every_limit_counts() -> None:
    """The tighter one decides, of CPU and memory."""
    assert listed(1, cpu=16, memory="32Gi") == [("t4", "t8")]
    assert listed(1, cpu=4, memory="64Gi") == [("t4",)]


def one_by_one(planned: list[Use], spare: list[int], sizes: list[headroom.Sizes]) -> list[Use]:
    """The same law, one launch at a time."""
    most, left = list(planned), list(spare)
    waiting = [(number, list(held)) for number, held in enumerate(sizes)]
    while waiting:
        number, held = waiting.pop(0)
        while held:
            grown = tuple(map(max, most[number], held.pop(0)))
            more = [new - old for new, old in zip(grown, most[number], strict=True)]
            if any(more) and all(one <= two for one, two in zip(more, left, strict=True)):
                most[number] = grown
                left = [two - one for one, two in zip(more, left, strict=True)]
                waiting.append((number, held))
                break
    return most


_SIZE = st.tuples(st.integers(1, 9), st.integers(1, 9))


@given(
    st.lists(_SIZE, min_size=2, max_size=2),
    st.lists(st.lists(_SIZE, max_size=4), min_size=2, max_size=2),
    st.lists(st.integers(0, 1), min_size=1, max_size=6),
    st.tuples(st.integers(0, 20), st.integers(0, 20)),
)
def test_launches_that_are_alike_rise_as_if_one_after_another(
    planned: list[Use],
    lists: list[list[Use]],
    which: list[int],
    spare: tuple[int, int],
) -> None:
    """As many of them, and all together never take more than there is."""
    uses = [planned[one] for one in which]
    sizes = [tuple(held) for held in lists]
    held = [sizes[one] for one in which]
    got = headroom.share_headroom(uses, spare, held)
    for place in range(2):
        taken = sum(one[place] for one in got) - sum(one[place] for one in uses)
        assert 0 <= taken <= spare[place]
    if len(set(which)) == 1:
        assert sorted(got) == sorted(one_by_one(uses, list(spare), held))
