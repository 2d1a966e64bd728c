"""How are many simulations run? One after another, on all cores, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from dovetail.errors import InputError
from dovetail.sim.scenario.case import Case, Outcome, run

if TYPE_CHECKING:
    from types import ModuleType

Tell = Callable[[str], None]
LOCAL: Final = "local"


def here(cases: Sequence[Case], tell: Tell) -> list[Outcome]:
    """One after another, in this process."""
    outcomes = []
    for number, case in enumerate(cases, 1):
        which = f"{number} of {len(cases)}, " if len(cases) > 1 else ""
        outcomes.append(run(case, partial(_tell_which, tell, which)))
    return outcomes


def on_cores(cases: Sequence[Case], tell: Tell, n_workers: int = 0) -> list[Outcome]:
    """On as many cores as there are, or as are wanted."""
    n_used = min(n_workers or os.cpu_count() or 1, len(cases))
    if n_used <= 1:
        return here(cases, tell)
    found: dict[int, Outcome] = {}
    tell(f"0 of {len(cases)} simulations done, {n_used} at a time")
    # A fresh interpreter for each: what a parent's threads hold would be held for ever in a fork.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_used, mp_context=fresh) as pool:
        numbers = {pool.submit(_quietly, case): at for at, case in enumerate(cases)}
        for done in as_completed(numbers):
            found[numbers[done]] = done.result()
            tell(f"{len(found)} of {len(cases)} simulations done, {n_used} at a time")
    return [found[at] for at in range(len(cases))]


def on_ray(cases: Sequence[Case], tell: Tell, address: str) -> list[Outcome]:
    """On a Ray cluster; "local" starts one of this machine's cores. Raises InputError."""
    with _ray(address) as ray:
        remote = ray.remote(_quietly)
        waiting = {remote.remote(case): at for at, case in enumerate(cases)}
        found: dict[int, Outcome] = {}
        while waiting:
            tell(f"{len(found)} of {len(cases)} simulations done, on Ray at {address}")
            done, _ = ray.wait(list(waiting), num_returns=1)
            for one in done:
                found[waiting.pop(one)] = ray.get(one)
    return [found[at] for at in range(len(cases))]


@contextmanager
def _ray(address: str) -> Iterator[ModuleType]:
    try:
        import ray
    except ImportError:
        msg = "--ray needs Ray, which is not installed; try: pip install 'dovetail[ray]'"
        raise InputError(msg) from None
    try:
        ray.init(
            address=None if address == LOCAL else address,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
        )
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        first = str(error).partition("\n")[0]
        msg = f"--ray {address}: no Ray cluster there ({first}); expected HOST:PORT, or local"
        raise InputError(msg) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _tell_which(tell: Tell, which: str, said: str) -> None:
    tell(which + said)


def _quietly(case: Case) -> Outcome:
    return run(case, _nobody)


def _nobody(said: str) -> None:
    del said
