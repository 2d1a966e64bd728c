"""How is a control plane emptied between two programs? Everything goes, whoever holds it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.live import surge
from dovetail import api
from dovetail.kube.errors import ApiError, ConflictError, NotFoundError
from dovetail.kube.http.client import HttpKube
from dovetail.kube.seam import Deletion, Patch, Ref, Scope

_KINDS: Final = (surge.POD, surge.NODE_CLAIM, surge.NODE)
_AT_ONCE: Final = 64
_PATIENCE_SECONDS: Final = 120.0


async def emptied(path: Path) -> None:
    """Delete all pods of the surge, all claims and all Nodes, and wait until they are gone."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    async with surge.reaching(path) as kube:
        while True:
            n_left = 0
            for kind in _KINDS:
                n_left += await _delete_all(kube, kind)
            if not n_left:
                return
            if time.monotonic() > deadline:
                msg = f"{n_left} objects would not go"
                raise TimeoutError(msg)
            await asyncio.sleep(0.5)


async def _delete_all(kube: HttpKube, kind: api.Kind) -> int:
    page = await kube.list(Scope(kind, surge.NAMESPACE if kind.is_namespaced else ""))
    found: list[Any] = [msgspec.json.decode(raw)["metadata"] for raw in page.items]
    slots = asyncio.Semaphore(_AT_ONCE)

    async def away(meta: Any) -> None:  # noqa: ANN401  JSON as it comes
        ref = Ref(kind, meta["name"], meta.get("namespace", ""))
        async with slots:
            try:
                if meta.get("finalizers"):
                    await kube.patch(ref, Patch({"metadata": {"finalizers": None}}))
                await kube.delete(ref, Deletion(grace_seconds=0))
            except (NotFoundError, ConflictError):
                pass
            except ApiError as error:
                print(f"deleting {kind.name} {ref.name}: {error}")

    async with asyncio.TaskGroup() as group:
        for meta in found:
            group.create_task(away(meta))
    return len(found)
