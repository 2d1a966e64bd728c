from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.volumes import PodVolumes
from dovetail.solve.axes import UNLIMITED
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.bins import EXISTING, Bins
from dovetail.solve.packing.units import ANY_CELL, ANY_WEIGHT, PodUnit, unit_of
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod
from tests.unit.solve.puzzles import (
    LARGE,
    SMALL,
    arrays_of,
    encoded,
    lottery,
    random_puzzle,
    units_of,
)

APART = [{"topology_key": "hostname"}]


def opened(enc: Encoded) -> Bins:
    """Bins with one new node of every offer."""
    bins = Bins(enc)
    for offer in range(enc.n_offers):
        bins.open(offer, 1)
    return bins


def group_of(enc: Encoded, name: str) -> int:
    """The group whose first pod begins with this name."""
    return next(n for n, group in enumerate(enc.groups) if group.pods[0].name.startswith(name))


def may_join(bins: Bins, unit: PodUnit, node: int) -> bool:
    """The laws of one node for one more pod, one after another."""
    free = bins.free[:, node] - _slots(bins, unit, node)
    if not bins.accept[unit.mask, node] or ((free < unit.request) & (unit.request > 0)).any():
        return False
    if any(free[bins.enc.claims.resource[claim]] < 0 for claim in unit.claims):
        return False
    if unit.cell not in {ANY_CELL, int(bins.cell[node])}:
        return False
    if ANY_WEIGHT not in {unit.weight, int(bins.weight[node])} and unit.weight != bins.weight[node]:
        return False
    return all(_is_kept(bins, unit, node, term) for term in range(len(bins.enc.ties.hosts)))


def _slots(bins: Bins, unit: PodUnit, node: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """What claims that are not attached there yet would take."""
    taken = np.zeros(len(bins.free), dtype=np.int64)
    for claim in unit.claims:
        taken[bins.enc.claims.resource[claim]] += not bins.attached[claim, node]
    return taken


def _is_kept(bins: Bins, unit: PodUnit, node: int, number: int) -> bool:
    term = bins.enc.ties.hosts[number]
    owns, matches = number in unit.own, number in unit.match
    matched, owners = int(bins.match[number, node]), int(bins.own[number, node])
    if term.kind == TermKind.AFFINITY:
        return not owns or matched > 0
    if term.kind == TermKind.SPREAD:
        counts = owns or (matches and owners > 0)
        return not counts or matched + matches <= term.max_skew + int(bins.floor[number])
    return not (owns and matched) and not (matches and owners)


def seeds() -> Iterable[tuple[int, Encoded]]:
    """Random puzzles that have pods and something to put them on."""
    for seed in range(80):
        enc = encode(random_puzzle(seed))
        if enc.groups and (enc.n_offers or len(enc.cell_n)):
            yield seed, enc


def test_room_is_what_joins_one_pod_at_a_time() -> None:
    """For every group on every node that is there and on a new one of every offer."""
    n_roomy = 0
    for seed, enc in seeds():
        bins = opened(enc)
        chance = lottery(seed)
        for group in chance.sample(range(len(enc.groups)), len(enc.groups)):
            unit = unit_of(enc, group)
            room = bins.room(unit, slice(0, bins.n))
            for place in chance.sample(range(bins.n), min(bins.n, 6)):
                joined = 0
                while joined < 40 and may_join(bins, unit, place):
                    bins.shift(unit, np.array([place]), np.array([1]))
                    joined += 1
                assert joined == min(int(room[place]), 40), f"seed {seed}"
                n_roomy += joined > 0
                leave = joined - chance.randint(0, min(joined, 2))
                bins.shift(unit, np.array([place]), np.array([-leave]))
    assert n_roomy > 500


def test_pods_that_come_and_go_leave_no_trace() -> None:
    """Free room, terms and attached volumes are as they were before."""
    for seed, enc in seeds():
        bins = opened(enc)
        before = arrays_of(bins)
        nodes = np.arange(bins.n)
        counts = 1 + nodes % 3
        for unit in units_of(enc):
            bins.shift(unit, nodes, counts)
        assert arrays_of(bins) != before, f"seed {seed}"
        for unit in units_of(enc):
            bins.shift(unit, nodes, -counts)
        assert arrays_of(bins) == before, f"seed {seed}"


def test_who_is_put_is_logged() -> None:
    """Unlike those who are only accounted for."""
    bins = opened(encoded([pod()]))
    (unit,) = units_of(bins.enc)
    bins.shift(unit, np.array([0]), np.array([1]))
    assert bins.log == []
    bins.put(7, unit, np.array([0, 1]), np.array([2, 1]))
    ((number, nodes, counts),) = bins.log
    assert (number, nodes.tolist(), counts.tolist()) == (7, [0, 1], [2, 1])


def test_a_closed_node_gives_back_what_it_took_of_limits() -> None:
    """The next node takes its place and is empty."""
    enc = encoded([pod()], limits={"default": {"nodes": 2}})
    bins = Bins(enc)
    bins.open(0, 1)
    before, left = arrays_of(bins), list(bins.limits.left)
    bins.open(1, 1)
    assert bins.limits.left == [0]
    bins.close_last()
    assert (arrays_of(bins), bins.limits.left) == (before, left)


def test_bins_grow_and_keep_what_they_held() -> None:
    """Hundreds of nodes, opened in two steps."""
    enc = encoded(deployment(3, anti_affinity=APART), nodes=(node("n1"), node("n2", cpu=1)))
    bins = Bins(enc)
    (unit,) = units_of(enc)
    bins.put(0, unit, np.array([1]), np.array([1]))
    before = arrays_of(bins)
    span = bins.open(3, 300)
    bins.open(0, 1000)
    assert (span.start, span.stop, bins.n) == (2, 302, 1302)
    assert (bins.free[:, span] == enc.cap_or[3][:, None]).all()
    assert (bins.offer[:2] == EXISTING).all()
    assert (bins.offer[span] == 3).all()
    assert not bins.dead.any()
    bins.n = 2
    assert arrays_of(bins) == before


def test_an_offer_fits_just_if_its_empty_node_has_room() -> None:
    """Whoever wants company or counts its hosts may still find no room there."""
    for seed, enc in seeds():
        bins = Bins(enc)
        new = [bins.open(offer, 1) for offer in range(enc.n_offers)]
        for unit in units_of(enc):
            fits = bins.fits_new(unit)
            room = np.array([bins.room(unit, span)[0] > 0 for span in new], dtype=bool)
            assert not (room & ~fits).any(), f"seed {seed}"
            kinds = {enc.ties.hosts[term].kind for term in (*unit.own, *unit.match)}
            if not kinds & {TermKind.AFFINITY, TermKind.SPREAD}:
                assert (room == fits).all(), f"seed {seed}"


def test_a_unit_goes_only_to_its_cell_and_weight() -> None:
    """Nodes that are there have no weight, and take pods of any."""
    pools = (node_pool("heavy", weight=5), node_pool("light"))
    enc = encoded(
        deployment(3, spread=[{"topology_key": "zone"}]),
        nodes=(node("n1", zone="a"),),
        node_pools=pools,
        instance_types={"heavy": (SMALL,), "light": (SMALL,)},
    )
    bins = opened(enc)
    cell, span = int(enc.cell_o[0]), slice(0, bins.n)
    fits = bins.room(unit_of(enc, 0, cell, 5), span) > 0
    assert (fits[1:] == ((enc.cell_o == cell) & (enc.weight_o == 5))).all()
    assert fits[0] == (enc.cell_n[0] == cell)
    assert (bins.fits_new(unit_of(enc, 0, cell, 5)) == fits[1:]).all()


def test_a_pod_that_asks_for_nothing_always_has_room() -> None:
    """Resources do not limit it."""
    enc = encoded([pod()])
    bins = opened(enc)
    (unit,) = units_of(enc)
    nothing = PodUnit(np.zeros_like(unit.request), unit.mask, ANY_CELL, (), (), 0)
    assert (bins.room(nothing, slice(0, 2)) == UNLIMITED).all()


def test_a_shared_volume_takes_one_slot_of_a_node() -> None:
    """Two pods with a volume of their own and a shared one each: three slots, not four."""
    pods = deployment(4, claims=["shared", "NAME"])
    volumes = {
        one.key: PodVolumes(attachments=(("csi", ("default/shared", f"default/{one.name}")),))
        for one in pods
    }
    enc = encoded(
        pods,
        instance_type("few", price=0.1, attach_limits={"csi": 3}),
        instance_type("one", price=0.1, attach_limits={"csi": 1}),
        instance_type("any", cpu=64, price=0.1),
        volumes=volumes,
    )
    bins = opened(enc)
    (unit,) = units_of(enc)
    room = bins.room(unit, slice(0, bins.n))
    kinds = [enc.market.types[one.type].name for one in enc.market.offers]
    assert {kind: int(room[place]) for place, kind in enumerate(kinds)} | {"any": 0} == {
        "few": 2,
        "one": 0,
        "any": 0,
    }
    assert room[kinds.index("any")] > 2
    assert not bins.fits_new(unit)[kinds.index("one")]


@pytest.fixture
def guarded() -> Encoded:
    """Pods that take port 80; on machines called tended, a daemon set takes it already."""
    tended = instance_type("tended", price=0.1, labels={"tended": "yes"})
    bare = instance_type("bare", price=0.1, labels={"tended": "no"})
    held: Pod = pod("agent", host_ports=[80], node_selector={"tended": "yes"})
    daemon = DaemonSet("agent", "default", held.spec, held.labels)
    return encoded([pod("web", host_ports=[80])], tended, bare, daemon_sets=(daemon,))


def test_daemon_pods_keep_away_whom_they_exclude(guarded: Encoded) -> None:
    """The port is taken before any pod comes."""
    bins = opened(guarded)
    (unit,) = units_of(guarded)
    names = [guarded.market.types[one.type].name for one in guarded.market.offers]
    want = [name == "bare" for name in names]
    assert bins.fits_new(unit).tolist() == want
    assert (bins.room(unit, slice(0, bins.n)) > 0).tolist() == want


def test_offers_have_the_same_daemons_if_no_term_tells_them_apart(guarded: Encoded) -> None:
    """One machine runs the agent, the other does not."""
    bins = Bins(guarded)
    names = [guarded.market.types[one.type].name for one in guarded.market.offers]
    tended = [place for place, name in enumerate(names) if name == "tended"]
    bare = names.index("bare")
    assert bins.same_daemons(tended[0], tended[1])
    assert not bins.same_daemons(tended[0], bare)
    assert Bins(encoded([pod()], SMALL, LARGE)).same_daemons(0, 3)


def test_a_selected_pod_keeps_to_the_spread_of_those_who_are_there() -> None:
    """It states no spread itself, but one that is there counts it."""
    pods = [
        pod("spread", labels={"app": "x"}, spread=[{"topology_key": "hostname", "max_skew": 2}]),
        *deployment(3, "counted", labels={"app": "x"}),
    ]
    enc = encoded(pods, LARGE)
    bins = opened(enc)
    units = units_of(enc)
    counted, spread = units[group_of(enc, "counted")], units[group_of(enc, "spread")]
    assert bins.room(counted, slice(0, 1))[0] > 2
    bins.shift(spread, np.array([0]), np.array([1]))
    assert bins.room(counted, slice(0, 1))[0] == 1


@pytest.mark.parametrize("seed", range(20))
def test_saved_nodes_come_back_as_they_were(seed: int) -> None:
    """Whatever was opened, filled and given up since."""
    enc = encode(random_puzzle(seed))
    bins, units = opened(enc), units_of(enc)
    for number, unit in enumerate(units):
        bins.fill(number, unit, 2, slice(0, bins.n), 0)
    want, saved = nodes_of(bins), bins.save()
    for offer in range(enc.n_offers):
        bins.open(offer, 40)
    for number, unit in enumerate(units):
        bins.fill(number, unit, 5, slice(0, bins.n), 0)
    bins.accept[:, : bins.n : 2] = False
    bins.dead[: bins.n : 3] = True
    bins.restore(saved)
    assert nodes_of(bins) == want


def nodes_of(bins: Bins) -> object:
    """All that is known of the nodes."""
    columns = (bins.free, bins.offer, bins.cell, bins.dead, bins.accept, bins.match, bins.own)
    log = [(number, nodes.tolist(), counts.tolist()) for number, nodes, counts in bins.log]
    limits = (list(bins.limits.left), bins.limits.supply.tolist())
    return bins.n, [column[..., : bins.n].tolist() for column in columns], log, limits
