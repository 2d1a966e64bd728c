"""Was this asked a moment ago? Answers about whole parts of a snapshot, kept while those stay.

Parts that nothing touched are the very same objects in the next snapshot (`state/cluster.py`), so
identity tells whether the answer is still right. One answer is kept for each question, no more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import is_
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
V = TypeVar("V")


def recalled(work_out: Callable[P, V]) -> Callable[P, V]:
    """The same function, which works nothing out when the last question is asked again.

    Only for pure functions of frozen parts, given by position.
    """
    held: list[tuple[tuple[object, ...], V]] = []

    @wraps(work_out)
    def recall(*parts: P.args, **named: P.kwargs) -> V:
        last = held[0] if held else None
        if last is not None and len(last[0]) == len(parts) and all(map(is_, last[0], parts)):
            return last[1]
        answer = work_out(*parts, **named)
        held[:] = [(parts, answer)]
        return answer

    return recall
