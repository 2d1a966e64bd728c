"""Computes the lower bound on the price of any plan, with its proof.

Give every offer o a price vector lambda_o >= 0 over resources (and mu_o >= 0 over capped terms)
with lambda_o . capacity_o + sum_t cap_t mu_ot <= price_o. Let a pod be worth the least of
lambda_o . request + mu_o over all offers that take it. Then the pods on any node are worth at most
what the node costs, so all pods together are worth at most what any plan costs. The vectors come
from the program, but the argument holds for any: the certificate states them as integers, and a
checker needs nothing else.

A spread group counts its pods by domain, with at least `low` and at most `high` in each. Existing
nodes hold pods for nothing: with a vector of their own, what they could hold is taken off.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.model.plan import Certificate, HostCap, PodValue, WholePods
from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.existing import ATTACH
from dovetail.solve.encoding.limits import sure_offers
from dovetail.solve.encoding.ties import ZoneTerm
from dovetail.solve.encoding.variety import insists
from dovetail.solve.patterns.proof import PatternBound
from dovetail.solve.program.cuts import KINDS
from dovetail.solve.program.multipliers import Values
from dovetail.solve.program.pod_worth import takes
from dovetail.solve.zones.quotas import simple_spread, spread_range

_DENOMINATOR: Final = 2**40
_ROUNDING: Final = 1e-6
_MARGIN: Final = 1.0 - 1e-9  # floating point stays this far below the exact value


def certify(
    enc: Encoded, values: Values, stands_for: Int, *, placed_g: Int, price: int
) -> Certificate:
    """The best bound these values prove for the pods that were placed, and its certificate.

    The plan's own price helps: what no plan as cheap could use up is there for all of them.
    """
    sure_o = sure_offers(enc, price, int(placed_g.sum()))
    worth_g = _least_worth(values, placed_g)
    split_g = _with_spreads(enc, values, (placed_g, worth_g), sure_o)
    total, existing = _with_existing(enc, values, placed_g, split_g)
    if total > price:
        # Pods that would wait otherwise may share a zone, if no other zone is opened.
        total, existing = _with_existing(enc, values, placed_g, worth_g)
    if total <= 0:
        return Certificate()
    choice_o = np.full(enc.n_offers, -1)
    choice_o[values.offers] = values.choice_p
    choice = tuple(
        (key, number)
        for key, number in zip(enc.market.keys, choice_o[stands_for].tolist(), strict=True)
        if number >= 0
    )
    return Certificate(
        resources=enc.resources,
        multipliers=tuple(
            tuple(int(x * _DENOMINATOR) for x in row) for row in values.vector_kr.tolist()
        ),
        denominator=_DENOMINATOR,
        choice=choice,
        existing_multiplier=existing,
        host_caps=_host_caps(enc, values),
        whole_pods=tuple(
            WholePods(
                enc.resources[resource],
                k,
                tuple(int(x * _DENOMINATOR) for x in values.vector_kw[:, kind].tolist()),
            )
            for kind, (resource, k) in enumerate(KINDS)
            if values.vector_kw[:, kind].any()
        ),
        bound_nanousd=max(0, int(total * _MARGIN)),
    )


def is_as_good(bound: int, other: int) -> bool:
    """Whether a bound is as high as another amount, but for rounding."""
    return other - bound <= other * _ROUNDING


def better(enc: Encoded, certificate: Certificate, pattern: PatternBound | None) -> Certificate:
    """The certificate, or that of a bound by patterns which says more."""
    if pattern is None or is_as_good(certificate.bound_nanousd, pattern.nanousd):
        return certificate
    if pattern.value_g is None:
        return Certificate(is_counted=True, bound_nanousd=pattern.nanousd)
    pods: dict[int, list[str]] = {}
    for group, value in zip(enc.groups, pattern.value_g.tolist(), strict=True):
        if value > 0:
            pods.setdefault(value, []).extend(pod.key for pod in group.pods)
    values = tuple(PodValue(value, tuple(keys)) for value, keys in sorted(pods.items()))
    return Certificate(pod_values=values, bound_nanousd=pattern.nanousd)


def _host_caps(enc: Encoded, values: Values) -> tuple[HostCap, ...]:
    caps = []
    for place, term in enumerate(values.cap_terms):
        if not values.vector_kt[:, place].any():
            continue
        pods = [
            pod.key
            for number, group in enumerate(enc.groups)
            if term in enc.ties.host_own_g[number] and term in enc.ties.host_match_g[number]
            for pod in group.pods
        ]
        caps.append(
            HostCap(
                tuple(pods),
                int(values.cap_t[place]),
                tuple(int(x * _DENOMINATOR) for x in values.vector_kt[:, place].tolist()),
            )
        )
    return tuple(caps)


def pod_values(values: Values) -> Int:
    """What one pod of every group is worth at least, in whole nanodollars; -1 where no offer takes
    it.
    """
    each_g = values.worth_sc.min(axis=1, initial=np.inf)[values.shape_g]
    is_known = np.isfinite(each_g)
    whole = np.floor(np.where(is_known, each_g, 0.0) * _MARGIN).astype(np.int64)
    return np.where(is_known, np.maximum(whole, 0), -1)


def _least_worth(values: Values, placed_g: Int) -> Float:
    """What all placed pods of a group are worth on offers alone, wherever they are."""
    each_g = values.worth_sc.min(axis=1, initial=np.inf)[values.shape_g]
    worth_g: Float = np.where(np.isfinite(each_g) & (placed_g > 0), each_g, 0.0)
    return worth_g * placed_g.astype(np.float64)


def _with_spreads(enc: Encoded, values: Values, placed: tuple[Int, Float], sure_o: Bool) -> Float:
    """The same where spread groups are in all the domains that they could be in."""
    placed_g, worth_g = placed[0], placed[1].copy()
    for group in range(len(enc.groups)):
        if placed_g[group] == enc.count_g[group]:
            split = _spread_worth(enc, values, group, sure_o)
            if split is not None:
                worth_g[group] = split
    return worth_g


def _spread_worth(enc: Encoded, values: Values, group: int, sure_o: Bool) -> float | None:
    """A spread group: at least `low` in every domain, the rest where it is cheapest."""
    zone = simple_spread(enc, group)
    # minValues may keep a domain from being opened, so that it need not be served.
    if zone is None or len(enc.cell_n) or insists(enc.market.pools):
        return None
    worth_c = values.cell_worth(group)
    bounds = spread_range(enc, group, zone, np.isfinite(worth_c))
    if bounds is None:
        return None
    domain_c = enc.ties.domains_ck[:, enc.ties.zones[zone].key]
    low, _ = bounds
    most = most_in_one(int(enc.count_g[group]), int((bounds[1] > 0).sum()), enc.ties.zones[zone])
    high = np.where(bounds[1] > 0, most, 0)
    worth_d = np.full(len(low), np.inf)
    inside = domain_c >= 0
    np.minimum.at(worth_d, domain_c[inside], worth_c[inside])
    reach = np.flatnonzero(np.isfinite(worth_d))
    if not sure_o.all() and not set(reach.tolist()) <= _sure_domains(enc, group, domain_c, sure_o):
        return None  # a limit may keep a domain from being opened, too
    total = float((low[reach] * worth_d[reach]).sum())
    left = int(enc.count_g[group] - low.sum())
    for domain in reach[np.argsort(worth_d[reach], kind="stable")].tolist():
        more = min(int(high[domain] - low[domain]), left)
        total += more * float(worth_d[domain])
        left -= more
    return total if left <= 0 else None


def _sure_domains(enc: Encoded, group: int, domain_c: Int, sure_o: Bool) -> set[int]:
    """The domains that can be opened for the group whatever else is bought."""
    sure = np.flatnonzero(sure_o)
    takers = sure[takes(enc, np.array([group]), sure)[0]]
    return set(domain_c[enc.cell_o[takers]].tolist())


def most_in_one(count: int, n_domains: int, term: ZoneTerm) -> int:
    """The most pods of a lone spread group that one domain can ever hold.

    With a minimum of m elsewhere, one domain holds at most m + skew, and at most what is left.
    """
    skew = term.max_skew
    if n_domains < term.min_domains:
        return skew
    base = max(0, (count - skew) // n_domains)
    return max(min(m + skew, count - (n_domains - 1) * m) for m in (base, base + 1))


def _with_existing(
    enc: Encoded, values: Values, placed_g: Int, worth_g: Float
) -> tuple[float, int]:
    """The bound once existing nodes may hold pods for nothing, and the vector they use."""
    if not len(enc.cell_n):
        return float(worth_g.sum()), -1
    fits_g = fit_existing(enc)
    best, choice = float(worth_g[~fits_g].sum()), -1
    usable = np.array([not name.startswith(ATTACH) for name in enc.resources])
    free = (np.maximum(enc.free_nr, 0) * usable).sum(axis=0).astype(np.float64)
    requests = enc.requests_gr.astype(np.float64) * usable
    for number, vector in enumerate(values.vector_kr):
        there = requests @ vector * placed_g
        total = float(np.where(fits_g, np.minimum(worth_g, there), worth_g).sum() - free @ vector)
        if total > best:
            best, choice = total, number
    return best, choice


def fit_existing(enc: Encoded) -> Bool:
    """The same for every group; those that ask for the same are asked about once."""
    known: dict[tuple[int, bytes], bool] = {}
    can_fit = np.zeros(len(enc.groups), dtype=bool)
    for group, asked in enumerate(np.ascontiguousarray(enc.requests_gr)):
        key = (int(enc.mask_g[group]), asked.tobytes())
        if key not in known:
            known[key] = fits_existing(enc, group)
        can_fit[group] = known[key]
    return can_fit


def fits_existing(enc: Encoded, group: int) -> bool:
    """Whether some existing node could take a pod of the group."""
    asked = enc.requests_gr[group]
    room = ((enc.free_nr >= asked) | (asked == 0)).all(axis=1)
    return bool((enc.mask_gn(group) & room).any())
