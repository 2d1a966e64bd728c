"""Runs many simulations: in turn, on all cores, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import socket
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
AUTO: Final = "auto"  # Ray finds the cluster that runs on this machine
_KNOCKS_FOR: Final = 5.0  # seconds


def in_process(cases: Sequence[Case], tell: Tell) -> list[Outcome]:
    """One after another, in this process."""
    outcomes = []
    for number, case in enumerate(cases, 1):
        which = f"{number} of {len(cases)}, " if len(cases) > 1 else ""
        outcomes.append(run(case, partial(_tell_prefixed, tell, which)))
    return outcomes


def on_cores(cases: Sequence[Case], tell: Tell, n_workers: int = 0) -> list[Outcome]:
    """On as many cores as there are, or as are wanted."""
    n_used = min(n_workers or os.cpu_count() or 1, len(cases))
    if n_used <= 1:
        return in_process(cases, tell)
    outcomes: dict[int, Outcome] = {}
    tell(f"0 of {len(cases)} simulations done, {n_used} at a time")
    # A fresh interpreter for each: what a parent's threads hold would be held for ever in a fork.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_used, mp_context=fresh) as pool:
        numbers = {pool.submit(_run_silently, case): at for at, case in enumerate(cases)}
        for done in as_completed(numbers):
            outcomes[numbers[done]] = done.result()
            tell(f"{len(outcomes)} of {len(cases)} simulations done, {n_used} at a time")
    return [outcomes[at] for at in range(len(cases))]


def on_ray(cases: Sequence[Case], tell: Tell, address: str, n_workers: int = 0) -> list[Outcome]:
    """On a Ray cluster; "local" starts one here, of all cores or as many as are wanted. Machines
    elsewhere must have Dovetail installed. Raises InputError.
    """
    with _ray(address, n_workers) as ray:
        remote = ray.remote(_run_silently)
        waiting = {remote.remote(case): at for at, case in enumerate(cases)}
        outcomes: dict[int, Outcome] = {}
        while waiting:
            tell(f"{len(outcomes)} of {len(cases)} simulations done, on Ray at {address}")
            done, _ = ray.wait(list(waiting), num_returns=1)
            for item in done:
                outcomes[waiting.pop(item)] = ray.get(item)
    return [outcomes[at] for at in range(len(cases))]


@contextmanager
def _ray(address: str, n_workers: int) -> Iterator[ModuleType]:
    try:
        import ray
    except ImportError:
        msg = "--ray needs Ray, which is not installed; try: pip install 'dovetail[ray]'"
        raise InputError(msg) from None
    if address not in (LOCAL, AUTO):
        _knock(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody is told that we run
    own = {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
    if n_workers:
        own["num_cpus"] = n_workers
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            **(own if address == LOCAL else {}),
        )
    except (ValueError, RuntimeError, OSError) as error:
        raise _no_ray_error(address, str(error)) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """See whether anybody is there: Ray itself would try for minutes. Raises InputError."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise _no_ray_error(address, "no host and port")
    try:
        socket.create_connection((host, int(port)), _KNOCKS_FOR).close()
    except OSError as error:
        raise _no_ray_error(address, str(error)) from None


def _no_ray_error(address: str, why: str) -> InputError:
    first = why.partition("\n")[0]
    return InputError(
        f"--ray {address}: no Ray cluster there ({first}); expected HOST:PORT or local"
    )


def _tell_prefixed(tell: Tell, which: str, message: str) -> None:
    tell(which + message)


def _run_silently(case: Case) -> Outcome:
    return run(case, lambda _: None)
