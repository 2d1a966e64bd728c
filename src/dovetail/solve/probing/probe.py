"""Places the pods of nodes that would be gone.

They go to the remaining nodes first: if those take all of them, by kube-scheduler's own rules,
nothing is launched and nothing else is looked at. Otherwise they are planned like pending pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dovetail.model.pod import Pod
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.wishes import wishes_of
from dovetail.solve.finishing.preferences import prefer
from dovetail.solve.launching.decode import decode
from dovetail.solve.packing.attempt import Attempt, left_of, new_attempt
from dovetail.solve.pipeline import plan_encoded
from dovetail.solve.probing.prepared import THOROUGH, Limits, Prepared, ProbeOptions, encode_probe
from dovetail.solve.program.pod_worth import priceless
from dovetail.solve.puzzle import Solution
from dovetail.solve.zones.settle import settle_all


def solve_without(
    prepared: Prepared,
    pods: Sequence[Pod],
    gone: Iterable[str],
    limits: Limits,
    how: ProbeOptions = THOROUGH,
) -> Solution:
    """Place these pods, whose nodes are gone, as cheaply as can be found; nothing is proven."""
    if not pods:
        return Solution()
    enc = encode_probe(prepared, pods, gone, limits, how)
    attempt = _on_nodes(enc)
    if attempt.unsettled or attempt.left_u.any():
        return plan_encoded(enc, attempt, how.most_nanousd)
    attempt.wishes = wishes_of(enc)
    if attempt.wishes is not None:
        prefer(attempt, attempt.wishes)
    _, placed, order = decode(attempt)
    return Solution(placed=tuple(placed), order=tuple(order), n_groups=len(enc.groups))


def _on_nodes(enc: Encoded) -> Attempt:
    """As many as can be on nodes that are there."""
    nothing = np.zeros(0, dtype=np.int64)
    attempt = new_attempt(enc, nothing, priceless(enc, nothing))
    settle_all(attempt, range(len(enc.groups)))
    attempt.left_u = left_of(attempt)
    return attempt
