"""How fast may we ask? A bucket of tokens, handed out in the order in which they were asked for."""

from __future__ import annotations

from dovetail.clock import Timer


class RateLimit:
    """`burst` requests at once, then `per_second`; first come, first served.

    A place in the queue is the moment at which its token will be there, so that nobody overtakes;
    who gives up waiting leaves that token unused.
    """

    def __init__(self, per_second: float, burst: int, timer: Timer) -> None:
        self._interval_seconds = 1 / per_second
        self._slack_seconds = (max(burst, 1) - 1) / per_second
        self._timer = timer
        self._next_at = float("-inf")  # when the next token would be there without any slack

    async def take(self) -> None:
        """Return once a request may be sent."""
        now = self._timer.elapsed_seconds()
        at = max(self._next_at, now - self._slack_seconds)
        self._next_at = at + self._interval_seconds
        if at > now:
            await self._timer.sleep(at - now)
