"""Who answers "why?" for the page? The command line's own explanations, on what is known."""

from __future__ import annotations

import asyncio

from dovetail.errors import InputError
from dovetail.observe.journal.reader import RecentDecisions
from dovetail.present.answer import answer
from dovetail.present.explanation import Explanation
from dovetail.present.history.past import explain
from dovetail.present.lookup import find, subject
from dovetail.web.dashboard.lookout import Lookout


class Asking:
    """Answers in a thread of its own: from the decisions that are remembered, or, about what came
    after the last of them, from the last look.
    """

    def __init__(self, lookout: Lookout, recent: RecentDecisions) -> None:
        self._lookout = lookout
        self._recent = recent

    async def explain(self, name: str) -> Explanation:
        """Why one object is as it is. Raises InputError."""
        return await asyncio.to_thread(self._answer, name, self._recent.still())

    def _answer(self, name: str, recent: RecentDecisions) -> Explanation:
        asked, lookout = subject(name), self._lookout
        try:
            return explain(asked, recent, None, _ignore)
        except InputError:
            if lookout.now is None:
                raise
            item = find(asked, lookout.snapshot)
            return answer(item, lookout.snapshot, lookout.plan, lookout.now)


def _ignore(_progress: str) -> None:
    """Nobody waits for long."""
