"""Values every pod of a puzzle, and bounds what all pods would cost if nothing ran yet.

A pod is worth what its requests cost at the multipliers of the relaxed program, on the cheapest
offer that takes it: the values that prove the certificate's bound. All pods of a node together are
worth no more than such a node costs, wherever pods like these may be launched on it; what the node
costs beyond that is waste.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from dovetail.model.plan import Certificate
from dovetail.model.pod import Pod
from dovetail.solve.axes import UNLIMITED
from dovetail.solve.encoding.encode import encode
from dovetail.solve.program.bound import certify, pod_values
from dovetail.solve.program.relaxation import search_space, value_pods
from dovetail.solve.puzzle import Puzzle, canonical

_ANY_PRICE: Final = int(UNLIMITED)  # no plan is known whose price would help the proof


class Appraisal(msgspec.Struct, frozen=True, gc=False):
    """Pods that scheduling cannot tell apart, and what one of each is worth, in nanodollars an
    hour. No plan for all of them costs less than the certificate says. Nothing on offer takes the
    `priceless`; those are in no group.
    """

    groups: tuple[tuple[Pod, ...], ...] = ()
    values_nanousd: tuple[int, ...] = ()
    priceless: tuple[Pod, ...] = ()
    certificate: Certificate = Certificate()

    def by_pod(self) -> dict[str, int]:
        """The value of every pod by its key, but for the priceless."""
        return {
            pod.key: value
            for pods, value in zip(self.groups, self.values_nanousd, strict=True)
            for pod in pods
        }


def appraisal(puzzle: Puzzle) -> Appraisal:
    """What the pods of a puzzle without nodes are worth. O(groups x offers) beside the program."""
    if not puzzle.pods:
        return Appraisal()
    asked = msgspec.structs.replace(canonical(puzzle), nodes=(), bound=(), bound_volumes={})
    space = search_space(encode(asked))
    enc, values = space.enc, value_pods(space)
    value_g = pod_values(values)
    is_known_g = value_g >= 0
    known, lost = np.flatnonzero(is_known_g).tolist(), np.flatnonzero(~is_known_g).tolist()
    placed_g = np.where(is_known_g, enc.count_g, 0)
    return Appraisal(
        groups=tuple(enc.groups[number].pods for number in known),
        values_nanousd=tuple(value_g[known].tolist()),
        priceless=tuple(pod for number in lost for pod in enc.groups[number].pods),
        certificate=certify(enc, values, space.stands_for, placed_g=placed_g, price=_ANY_PRICE),
    )
