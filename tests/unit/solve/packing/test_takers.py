from __future__ import annotations

import numpy as np

from dovetail.solve.encoding.encode import encode
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.takers import with_takers
from tests.unit.solve.puzzles import random_puzzle, units_of


def test_many_at_once_and_one_by_one_are_told_the_same() -> None:
    """For random puzzles and random choices of offers: as `fits_new` says of each unit."""
    chance = np.random.default_rng(1)
    n_refused = 0
    for seed in range(60):
        enc = encode(random_puzzle(seed))
        if not enc.n_offers:
            continue
        bins, units = Bins(enc), units_of(enc)
        offers = np.flatnonzero(chance.random(enc.n_offers) < 0.3)
        wanted = [n for n, unit in enumerate(units) if bins.fits_new(unit)[offers].any()]
        assert with_takers(bins, units, range(len(units)), offers) == wanted, f"seed {seed}"
        n_refused += len(units) - len(wanted)
    assert n_refused > 0
