"""Says what became of the entries of the ConfigMap karpenter-global-settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dovetail.api.older.door import OlderNodeClasses
from dovetail.api.older.draft import Draft, Fields, as_fields, texts

NAME: Final = "karpenter-global-settings"
_OWN: Final = {
    "batchMaxDuration": "is the flag --batch-max-duration (BATCH_MAX_DURATION)",
    "batchIdleDuration": "is the flag --batch-idle-duration (BATCH_IDLE_DURATION)",
    "featureGates.driftEnabled": "drift is always on: nodes that have drifted are replaced",
}


def is_settings(tree: Fields) -> bool:
    """Whether an object is that ConfigMap."""
    return tree.get("kind") == "ConfigMap" and as_fields(tree.get("metadata")).get("name") == NAME


def entries(tree: Fields) -> dict[str, str]:
    """Its entries."""
    return dict(texts(tree.get("data")))


def unchanged_settings(tree: Fields, providers: Sequence[OlderNodeClasses]) -> Draft:
    """The ConfigMap as it is, with a notice for each of its entries."""
    draft = Draft(tree, tree)
    known = _OWN | {key: text for provider in providers for key, text in provider.settings.items()}
    draft.tell("", "is not read any more, and stays as it is: set flags or variables instead")
    for key in sorted(as_fields(tree.get("data"))):
        draft.tell(("data", key), known.get(key, "is unknown; it has no equal"))
    return draft
