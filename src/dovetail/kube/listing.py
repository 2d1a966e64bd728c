"""What is in a cluster at this moment? Every kind that decisions read, listed once, as manifests.

A kind that the cluster does not know is none of its own: nobody has installed it. An object that
cannot be read is told, and the rest counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dovetail import api
from dovetail.errors import InputError
from dovetail.kube.errors import ApiError, NotFoundError
from dovetail.kube.manifests import Manifest, ManifestOrigin, Manifests
from dovetail.kube.seam import Reader, Scope
from dovetail.kube.typed import Intake, Unreadable

_PAGE: Final = 500
# Attachments matter when a node is drained, and not to plans.
_PASSED_OVER: Final = frozenset({api.VolumeAttachment})


async def cluster(kube: Reader, name: str, tell: Callable[[str], None]) -> Manifests:
    """Everything there is; `name` is for messages. Raises InputError if it cannot be read."""
    found: list[Manifest] = []
    intake = Intake()
    for kind in api.KINDS.values():
        if kind.wire_type in _PASSED_OVER:
            continue
        try:
            found += await _listed(kube, kind, intake, tell)
        except NotFoundError:
            continue
        except ApiError as error:
            msg = f"{name}: listing {kind.plural}: {error}"
            raise InputError(msg) from error
    return Manifests(tuple(found))


async def _listed(
    kube: Reader, kind: api.Kind, intake: Intake, tell: Callable[[str], None]
) -> list[Manifest]:
    found: list[Manifest] = []
    token = ""
    while True:
        page = await kube.list(Scope(kind), limit=_PAGE, token=token)
        for data in page.items:
            read = intake.read(kind, data)
            if isinstance(read, Unreadable):
                tell(f"Left out: {read}")
            else:
                found.append(Manifest(ManifestOrigin(kind.plural, len(found) + 1), kind, read))
        token = page.token
        if not token:
            return found
