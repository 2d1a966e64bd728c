"""The compiled loops and their plain twins give the same answers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.solve import solve, solve_without
from dovetail.solve.encoding.dominance import undominated_offers
from dovetail.solve.encoding.encode import encode
from dovetail.solve.kernel import loading
from dovetail.solve.packing.attempt import Attempt, new_attempt
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.packing.filling import snug_fill, water_fill
from dovetail.solve.packing.units import PodUnit
from dovetail.solve.program.relaxation import search_space, value_pods
from dovetail.solve.puzzle import Puzzle, canonical
from dovetail.solve.zones import settle
from dovetail.solve.zones.settle import settle_all
from tests.laws.market import Scale
from tests.unit.solve.puzzles import arrays_of, random_puzzle, units_of
from tests.unit.solve.questions import questions

Fill = Callable[[Bins, int, PodUnit, int, slice], int]
SEEDS = st.integers(0, 100_000)
MANY = Scale(most_apps=8, most_pods=30, spice=0.5)


def test_the_loops_are_compiled_where_there_is_a_compiler() -> None:
    """Otherwise all the comparisons below would compare the plain twins with themselves."""
    assert loading.is_built() == (shutil.which("cc") is not None)


def test_a_library_of_another_source_is_left_aside(tmp_path: Path) -> None:
    """After a pull, say: arrays are handed over by their layout, and it would read them wrongly."""
    folder = Path(loading.__file__).parent
    for part in (folder / "_kernel.so", *folder.glob("*.c")):
        shutil.copy(part, tmp_path)
    assert loading.load(tmp_path) is not None
    with (tmp_path / "packing.c").open("a", encoding="utf-8") as source:
        source.write("/* changed */\n")
    with pytest.warns(RuntimeWarning, match="from another source"):
        assert loading.load(tmp_path) is None


def test_the_plain_twins_can_be_asked_for() -> None:
    """And only for a while."""
    before = loading.library()
    with loading.plain():
        assert loading.library() is None
    assert loading.library() is before


@pytest.mark.parametrize("batch", range(8))
def test_both_make_the_same_plan(batch: int) -> None:
    """Nodes, pods, names, order and certificate, to the last bit."""
    for seed in range(batch, 240, 8):
        puzzle = random_puzzle(seed)
        compiled = solve(puzzle)
        with loading.plain():
            assert solve(puzzle) == compiled, f"seed {seed}"


def test_both_say_the_same_of_nodes_that_go() -> None:
    """What few pods cost is looked up in another way."""
    n_bought = 0
    for seed, one in questions(60):
        compiled = solve_without(one.prepared(), one.pods, one.gone, one.limits)
        with loading.plain():
            plain = solve_without(one.prepared(), one.pods, one.gone, one.limits)
        assert plain == compiled, f"seed {seed}"
        n_bought += bool(plain.launches)
    assert n_bought > 5


@given(SEEDS, st.sampled_from([water_fill, snug_fill]), st.integers(1, 40))
def test_both_fill_the_same_nodes(seed: int, fill: Fill, want: int) -> None:
    """Unit after unit, so that nodes are partly full and pods keep each other away."""
    enc = encode(canonical(random_puzzle(seed)))
    logs = []
    for how in (nullcontext(), loading.plain()):
        with how:
            bins = Bins(enc)
            for offer in range(0, enc.n_offers, max(1, enc.n_offers // 3)):
                bins.open(offer, 2)
            for number, unit in enumerate(units_of(enc)):
                room = bins.room(unit, slice(0, bins.n))
                placed = fill(bins, number, unit, want, slice(0, bins.n))
                assert placed == min(want, int(room.sum()))
            logs.append(
                (
                    [(n, a.tolist(), c.tolist()) for n, a, c in bins.log if c.any()],
                    bins.free[:, : bins.n].tolist(),
                    bins.match[:, : bins.n].tolist(),
                    bins.own[:, : bins.n].tolist(),
                )
            )
    assert logs[0] == logs[1]


@given(SEEDS)
def test_both_find_the_same_offers_pointless(seed: int) -> None:
    """And name the same ones to stand for them."""
    enc = encode(canonical(random_puzzle(seed)))
    compiled = undominated_offers(enc)
    with loading.plain():
        plain = undominated_offers(enc)
    assert np.array_equal(compiled[0], plain[0])
    assert np.array_equal(compiled[1], plain[1])


def without_nodes(puzzle: Puzzle) -> Puzzle:
    """Nothing is there yet."""
    return msgspec.structs.replace(puzzle, nodes=(), bound=())


def with_full_nodes(puzzle: Puzzle) -> Puzzle:
    """The nodes that are there have nothing to give."""
    nodes = tuple(
        msgspec.structs.replace(node, allocatable=dict.fromkeys(node.allocatable, 0))
        for node in puzzle.nodes
    )
    return msgspec.structs.replace(puzzle, nodes=nodes)


@given(SEEDS, st.sampled_from([without_nodes, with_full_nodes]))
def test_both_settle_the_same_quotas(seed: int, changed: Callable[[Puzzle], Puzzle]) -> None:
    """In the same turns, and count the same pods in every domain, where no node has room; and so
    does asking every node about every group.
    """
    shop = search_space(encode(canonical(changed(random_puzzle(seed, MANY)))))
    values = value_pods(shop)
    found = []
    for how in (nullcontext(), loading.plain(), _asking_nodes()):
        with how:
            attempt = new_attempt(shop.enc, shop.offers, values)
            settle_all(attempt, range(len(shop.enc.groups)))
            found.append(_settled(attempt))
    assert found[0] == found[1]
    assert found[0] == found[2]


@contextmanager
def _asking_nodes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settle, "_without_room", lambda *_: set())
        yield


@given(SEEDS)
def test_both_pack_the_same_nodes(seed: int) -> None:
    """In the same order, each unit by its share of what the program would buy."""
    shop = search_space(encode(canonical(random_puzzle(seed, MANY))))
    values = value_pods(shop)
    found = []
    for how in (nullcontext(), loading.plain()):
        with how:
            attempt = run_attempt(shop.enc, shop.offers, values)
            log = [(n, at.tolist(), counts.tolist()) for n, at, counts in attempt.bins.log]
            found.append((log, arrays_of(attempt.bins), attempt.left_u.tolist()))
    assert found[0] == found[1]


def _settled(attempt: Attempt) -> list[object]:
    state = attempt.settler.state
    counted = [one.tolist() for one in (*state.match, *state.own, *state.foreseen)]
    members = [(unit.cell, unit.members) for unit in attempt.units]
    return [attempt.steps, attempt.unsettled, members, counted]
