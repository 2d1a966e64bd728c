"""How does a test write a pod as the API tells it?"""

from __future__ import annotations

from datetime import datetime

import msgspec

from dovetail import api
from dovetail.testing.virtual_time import START

POD = api.KINDS["", "Pod"]


def wire_pod(
    name: str = "p1",
    *,
    phase: str = "Pending",
    node: str = "",
    uid: str = "u1",
    conditions: dict[str, datetime] | None = None,
    limits: dict[str, str] | None = None,
    owner: str = "",
) -> api.Pod:
    """A pod of the namespace `default`, created at START; `conditions` say since when they hold."""
    owned = {"apiVersion": "apps/v1", "kind": owner, "name": "x", "uid": "o", "controller": True}
    text = msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": uid,
                "creationTimestamp": START.isoformat(),
                "ownerReferences": [owned] if owner else [],
            },
            "spec": {
                "nodeName": node,
                "containers": [{"name": "c", "resources": {"limits": limits or {}}}],
            },
            "status": {
                "phase": phase,
                "conditions": [
                    {"type": kind, "status": "True", "lastTransitionTime": since.isoformat()}
                    for kind, since in (conditions or {}).items()
                ],
            },
        }
    )
    found = api.read(POD, text)
    assert isinstance(found, api.Pod)
    return found
