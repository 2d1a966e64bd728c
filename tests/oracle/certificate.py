"""x"""

from __future__ import annotations

from datetime import datetime

from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot


def check(snapshot: Snapshot, now: datetime, plan: Plan) -> list[str]:
    """X"""
    return []
