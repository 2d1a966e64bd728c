"""Who answers "why?" for the page? The command line's own explanations, on what is known."""

from __future__ import annotations

import asyncio

from dovetail.errors import InputError
from dovetail.present.explain_node import explain_node
from dovetail.present.explain_pod import explain_pod
from dovetail.present.explanation import Explanation
from dovetail.present.lookup import SubjectKind, find_node, find_pod, subject
from dovetail.web.dashboard.lookout import Lookout


class Asking:
    """Answers from the last look and the last plan, in a thread of its own."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout = lookout

    async def explain(self, what: str) -> Explanation:
        """Why one object is as it is. Raises InputError."""
        return await asyncio.to_thread(self._explained, what)

    def _explained(self, what: str) -> Explanation:
        lookout, asked = self._lookout, subject(what)
        if lookout.now is None:
            msg = "nothing is known of the cluster yet"
            raise InputError(msg)
        snapshot, plan, now = lookout.snapshot, lookout.plan, lookout.now
        if asked.kind is SubjectKind.POD:
            return explain_pod(find_pod(asked, snapshot), snapshot, plan, now)
        return explain_node(find_node(asked, snapshot), snapshot, plan, now)
