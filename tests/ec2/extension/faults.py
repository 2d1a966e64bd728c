"""Faults that tests order: errors, lost answers, broken answers and latency."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.ec2.extension.wire import Request


@dataclass
class CallFault:
    """What goes wrong with calls of an action.

    kind `error` answers with `code` and `status`, and nothing is carried out; `cut` closes the
    connection before the call is carried out, `lose` after it; `garble` answers with text that is
    no answer, after the call is carried out; `delay` only waits.
    """

    action: str  # a pattern
    kind: str
    code: str = ""
    message: str = ""
    status: int = 400
    seconds: float = 0.0
    skip: int = 0  # calls that go well before the fault begins
    times: int | None = 1  # None: until it is cleared

    def strikes(self, request: Request) -> bool:
        """Whether this call is concerned; counts it if so."""
        if self.times == 0 or not fnmatchcase(request.action, self.action):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True
