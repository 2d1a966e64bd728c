"""What happened in what order, and what was true at the worst moment? Read from watches.

A watch is a list of changes, each with its `type` and `object`, as `live.watching` gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any

from tests.e2e.live import Objects, condition
from tests.e2e.manifests import POOL

DISRUPTED = "karpenter.sh/disrupted"
_Object = Mapping[str, Any]


def fewest_ready(changes: Objects, app: str, *, at_first: int) -> int:
    """How few pods of an app were ready at the worst moment since so many were."""

    def is_ready(pod: _Object) -> bool:
        is_staying = "deletionTimestamp" not in pod["metadata"]
        return is_staying and condition(pod, "Ready").get("status") == "True"

    chosen = [one for one in changes if one["object"]["metadata"]["labels"].get("app") == app]
    counts = list(_counts(chosen, is_ready))
    return min(counts[counts.index(at_first) :])


def most_leaving(changes: Objects, pool: str) -> int:
    """How many claims of a pool were on their way out at once, at the worst moment. One whose
    instance is being ended is not counted any more: its pods are gone.
    """

    def is_leaving(claim: _Object) -> bool:
        is_over = condition(claim, "InstanceTerminating").get("status") == "True"
        return (is_marked(claim) or "deletionTimestamp" in claim["metadata"]) and not is_over

    chosen = [one for one in changes if one["object"]["metadata"]["labels"].get(POOL) == pool]
    return max(_counts(chosen, is_leaving), default=0)


def _counts(changes: Objects, holds: Callable[[_Object], bool]) -> Iterator[int]:
    """After each change, of how many objects something holds."""
    held: dict[str, bool] = {}
    for change in changes:
        found = change["object"]
        held[found["metadata"]["uid"]] = change["type"] != "DELETED" and holds(found)
        yield sum(held.values())


def was_undone(changes: Objects, name: str, holds: Callable[[_Object], bool]) -> bool:
    """Whether something held of the object of this name, and later did not while it existed."""
    held = [
        holds(one["object"])
        for one in changes
        if one["object"]["metadata"]["name"] == name and one["type"] != "DELETED"
    ]
    return any(before and not after for before, after in pairwise(held))


def ever_fenced(changes: Objects, pool: str) -> set[str]:
    """The nodes of a pool that were ever fenced off or deleted."""
    return {
        one["object"]["metadata"]["name"]
        for one in changes
        if one["object"]["metadata"]["labels"].get(POOL) == pool
        and (is_fenced(one["object"]) or "deletionTimestamp" in one["object"]["metadata"])
    }


def is_marked(claim: _Object) -> bool:
    """Whether a claim says that its node is about to be disrupted."""
    return condition(claim, "DisruptionReason").get("status") == "True"


def is_fenced(node: _Object) -> bool:
    """Whether no pod may come to it because it is to go."""
    return any(one["key"] == DISRUPTED for one in node["spec"].get("taints", ()))


def evictions(changes: Objects, app: str) -> list[datetime]:
    """When pods of an app were told to go, in order."""
    found = {
        one["object"]["metadata"]["uid"]: moment(one["object"]["metadata"]["deletionTimestamp"])
        for one in changes
        if one["object"]["metadata"]["labels"].get("app") == app
        and "deletionTimestamp" in one["object"]["metadata"]
    }
    return sorted(found.values())


def deleted(changes: Objects, app: str) -> set[str]:
    """The pods of an app that were deleted or told to go, by whomever: their uids."""
    return {
        one["object"]["metadata"]["uid"]
        for one in changes
        if one["object"]["metadata"]["labels"].get("app") == app
        and (one["type"] == "DELETED" or "deletionTimestamp" in one["object"]["metadata"])
    }


def evicted(changes: Objects, app: str) -> set[str]:
    """The pods of an app that the eviction API let go, as the API server notes in their status:
    their uids. A pod that is simply deleted has no such note.
    """
    return {
        one["object"]["metadata"]["uid"]
        for one in changes
        if one["object"]["metadata"]["labels"].get("app") == app
        and condition(one["object"], "DisruptionTarget").get("reason") == "EvictionByEvictionAPI"
    }


def became_true(claim: _Object, kind: str) -> datetime | None:
    """When a condition became true; None if it is not."""
    held = condition(claim, kind)
    return moment(held["lastTransitionTime"]) if held.get("status") == "True" else None


def without_a_node(pods: Objects, claims: Objects, since: datetime) -> set[tuple[str, str]]:
    """The pods made since then whose node had not started when they were made, or that have none:
    app and name of each.
    """
    started: dict[str, datetime] = {}
    for one in claims:
        at = became_true(one["object"], "Initialized")
        if at is not None:
            started[one["object"]["status"]["nodeName"]] = at
    found: dict[str, bool] = {}
    names: dict[str, tuple[str, str]] = {}
    for one in pods:
        meta = one["object"]["metadata"]
        made_at = moment(meta["creationTimestamp"])
        if made_at >= since:
            names[meta["uid"]] = (meta["labels"]["app"], meta["name"])
            started_at = started.get(one["object"]["spec"].get("nodeName", ""))
            found[meta["uid"]] = started_at is not None and started_at <= made_at
    return {names[uid] for uid, has_node in found.items() if not has_node}


def moment(text: str) -> datetime:
    """A moment as the API writes it."""
    return datetime.fromisoformat(text)
