"""Steps that measure: resources, volume slots, host ports, minValues, limits, reservations."""

from __future__ import annotations

from functools import partial

from dovetail.decide.explain import say
from dovetail.decide.sieve.state import Finding, Sifting, Waiver
from dovetail.model.policy import MinValuesPolicy
from dovetail.model.resources import NODES
from dovetail.model.topology import HostPort
from dovetail.model.verdict import Reason
from dovetail.units import quantity


def resources(state: Sifting) -> Finding | None:
    """What the pod requests, on a node that its daemon sets have entered first."""
    shelf = state.shelf
    asked = [request for request in state.ask.requests if request[0] not in state.waived.resources]
    fitting = [shelf.table.free(name, shelf.overhead).at_least(amount) for name, amount in asked]
    enough = state.left
    for mask in fitting:
        enough &= mask
    if state.narrow(enough):
        return None
    alone = [pair for pair, mask in zip(asked, fitting, strict=True) if not mask & state.left]
    short = alone or asked
    waiver = Waiver(resources=frozenset(name for name, _ in short))

    def tell() -> str:
        largest = _largest(state, short, is_alone=bool(alone))
        return say(Reason.RESOURCES, asked=amounts(short), largest=largest)

    return Finding(Reason.RESOURCES, tell, state.left, waiver, short[0][0])


def _largest(state: Sifting, short: list[tuple[str, int]], *, is_alone: bool) -> str:
    if not is_alone:
        return "no instance type has all of it together"
    shelf, left = state.shelf, state.left
    if all(not shelf.table.capacity(name).at_least(1) & left for name, _ in short):
        return f"no instance type has {' or '.join(name for name, _ in short)}"
    most = {name: shelf.table.free(name, shelf.overhead).largest(left) for name, _ in short}
    taken = " after DaemonSets" if shelf.overhead else ""
    return f"the largest instance type leaves {amounts(sorted(most.items()))}{taken}"


def amounts(by_resource: list[tuple[str, int]]) -> str:
    """Amounts as people read them; less than nothing is nothing."""
    return ", ".join(
        f"{name} {quantity.render(name, max(amount, 0))}" for name, amount in by_resource
    )


def attach_limits(state: Sifting) -> Finding | None:
    """As many volumes of each driver as the pod has."""
    if state.is_waived(Reason.VOLUME_LIMITS):
        return None
    for driver, n_volumes in state.ask.attachments:
        if not state.narrow(state.shelf.table.attachable(driver, n_volumes)):
            return _too_many_volumes(state, driver, n_volumes)
    return None


def _too_many_volumes(state: Sifting, driver: str, n_volumes: int) -> Finding:
    def tell() -> str:
        largest = n_volumes - 1
        while largest and not state.shelf.table.attachable(driver, largest) & state.left:
            largest -= 1
        facts = {"asked": str(n_volumes), "driver": driver, "largest": str(largest)}
        return say(Reason.VOLUME_LIMITS, **facts)

    waiver = Waiver(reasons=frozenset({Reason.VOLUME_LIMITS}))
    return Finding(Reason.VOLUME_LIMITS, tell, state.left, waiver, driver)


def host_ports(state: Sifting) -> Finding | None:
    """Host ports that no daemon set takes."""
    ports = state.ask.spec.host_ports
    if not ports or state.is_waived(Reason.HOST_PORTS):
        return None
    for daemon, members in state.shelf.daemons:
        taken = _conflict(ports, daemon.spec.host_ports)
        if taken is None or state.narrow(~members):
            continue
        name, port = f"{daemon.namespace}/{daemon.name}", f"{taken.port}/{taken.protocol}"
        tell = partial(say, Reason.HOST_PORTS, port=port, daemon_set=name)
        waiver = Waiver(reasons=frozenset({Reason.HOST_PORTS}))
        return Finding(Reason.HOST_PORTS, tell, state.left, waiver, name)
    return None


def _conflict(ports: tuple[HostPort, ...], taken: tuple[HostPort, ...]) -> HostPort | None:
    return next((port for port in ports for other in taken if port.conflicts(other)), None)


def min_values(state: Sifting) -> Finding | None:
    """As many values of a label as the pool insists on choosing from."""
    if state.is_waived(Reason.MIN_VALUES) or (
        state.bench.min_values_policy == MinValuesPolicy.BEST_EFFORT
    ):
        return None
    for key, asked in state.shelf.min_values:
        n_values = state.shelf.n_values(key, state.left)
        if n_values < asked:
            facts = {"found": str(n_values), "key": key, "asked": str(asked)}
            tell = partial(say, Reason.MIN_VALUES, **facts)
            waiver = Waiver(reasons=frozenset({Reason.MIN_VALUES}))
            return Finding(Reason.MIN_VALUES, tell, state.left, waiver, key)
    return None


def limits(state: Sifting) -> Finding | None:
    """Room for one more node within the pool's limits."""
    remaining, table = state.bench.remaining, state.shelf.table
    if not remaining or state.is_waived(Reason.LIMITS):
        return None
    mask = 0 if remaining.get(NODES, 1) < 1 else state.left
    for name, amount in remaining.items():
        if name != NODES:
            mask &= table.capacity(name).at_most(amount)
    if state.narrow(mask):
        return None
    waiver = Waiver(reasons=frozenset({Reason.LIMITS}))
    return Finding(Reason.LIMITS, partial(_tell_limits, state), state.left, waiver)


def _tell_limits(state: Sifting) -> str:
    remaining, table = state.bench.remaining, state.shelf.table
    needed = {
        name: 1 if name == NODES else table.capacity(name).smallest(state.left)
        for name in sorted(remaining)
    }
    short = [name for name in sorted(remaining) if needed[name] > remaining[name]]
    named = short or sorted(remaining)
    return say(
        Reason.LIMITS,
        remaining=amounts([(name, remaining[name]) for name in named]),
        needed=amounts([(name, needed[name]) for name in named]),
    )


def reservations(state: Sifting) -> Finding | None:
    """Everything that is left is reserved, and yet the pod was not placed."""
    if state.is_waived(Reason.RESERVATIONS) or state.is_waived(Reason.NO_OFFERING):
        return None
    shelf = state.shelf
    for wish, mask in state.branches:
        unreserved = shelf.rows(wish) & ~shelf.table.reserved
        if shelf.table.types_of(unreserved) & mask & state.left:
            return None
    waiver = Waiver(reasons=frozenset({Reason.RESERVATIONS}))
    return Finding(Reason.RESERVATIONS, partial(say, Reason.RESERVATIONS), state.left, waiver)
