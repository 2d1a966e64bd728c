"""How do the two compare on one scenario? Run in turns, each time in a process of its own; the
checker then has its word on both plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from benchmarks.peers.judging import NOW, Word, word
from benchmarks.peers.reference import Answer, solved
from benchmarks.peers.rows import LONG_SECONDS, MANY_PODS, SWIFT_SECONDS, PeerRow
from benchmarks.peers.scenario import written
from benchmarks.results import Result
from benchmarks.rows import CLOCK_SECONDS, PEAK_MB, RATIO, SECONDS
from benchmarks.runs import Trials, planned
from benchmarks.scenarios import SCENARIOS
from dovetail.decide import decide

_ONCE_FROM_SECONDS: Final = 60.0  # what takes the reference longer is run once
_NANOUSD: Final = 1e9


class Compared(msgspec.Struct, frozen=True):
    """The best answers of both to one row, and what else is to be said."""

    row: PeerRow
    theirs: Answer
    ours: Result
    word: Word = Word()

    @property
    def speed(self) -> float | None:
        """How many times faster we were; None if there is nothing to compare with."""
        if self.theirs.error or SECONDS not in self.ours.figures:
            return None
        return self.theirs.seconds.all / self.ours.figures[SECONDS]

    @property
    def price(self) -> float | None:
        """Our price over theirs, if both have placed every pod. Where some of theirs would not be
        bound, theirs is too low.
        """
        if self.theirs.error or self.theirs.not_placed or self.ours.failures:
            return None
        return self.ours.figures["$/h"] * _NANOUSD / self.theirs.price_nanousd

    @property
    def misses(self) -> tuple[str, ...]:
        """Every reason for which this row is not good enough."""
        return (*self.ours.failures, *self._misses())

    def _misses(self) -> Iterator[str]:
        row, figures = self.row, self.ours.figures
        if self.word.n_illegal:
            yield f"{self.word.n_illegal} pods that would not be bound"
        seconds = figures.get(SECONDS, 0.0)
        is_short = row.is_swift and not self.theirs.error and self.theirs.seconds.all < LONG_SECONDS
        if is_short and seconds > SWIFT_SECONDS:
            yield f"{seconds:.2f} s instead of {SWIFT_SECONDS} s"
        elif not is_short and row.speed and self.speed is not None and self.speed < row.speed:
            yield f"{self.speed:.0f} times as fast instead of {row.speed:g}"
        if row.price and self.price is not None and self.price > row.price:
            yield f"{self.price:.3f} of the price instead of {row.price:g}"
        if row.bound and figures.get(RATIO, 0.0) > row.bound:
            yield f"{figures[RATIO]:.4f} of the bound instead of {row.bound:g}"
        is_large = row.n_pods >= MANY_PODS and not self.theirs.error
        if is_large and figures.get(PEAK_MB, 0.0) > self.theirs.peak_mb:
            yield f"{figures[PEAK_MB]:.0f} MB instead of {self.theirs.peak_mb:.0f} MB"


def compared(row: PeerRow, trials: Trials, *, timeout_seconds: float) -> Compared:
    """Let both answer in turns; of each the fastest run counts."""
    snapshot = SCENARIOS[row.scenario](row.n_pods, trials.seed)
    scenario = written(snapshot)
    theirs: list[Answer] = []
    ours: list[Result] = []
    for _ in range(trials.repeat):
        if not theirs or (not theirs[0].error and theirs[0].seconds.all < _ONCE_FROM_SECONDS):
            theirs.append(solved(scenario, timeout_seconds=timeout_seconds))
        ours.append(by_clock(planned(row.scenario, row.n_pods, Trials(2, trials.seed))))
    best = min(theirs, key=lambda one: (bool(one.error), one.seconds.all))
    return Compared(
        row,
        best,
        min(ours, key=lambda one: (bool(one.failures), one.figures.get(SECONDS, 0.0))),
        word(snapshot, decide(snapshot, NOW), best),
    )


def by_clock(result: Result) -> Result:
    """The Go program is timed by the clock, so ours is, too: a busy machine slows both."""
    if CLOCK_SECONDS not in result.figures:
        return result
    figures = {**result.figures, SECONDS: result.figures[CLOCK_SECONDS]}
    return msgspec.structs.replace(result, figures=figures)
