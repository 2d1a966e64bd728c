"""Makes the custom resource definition of EC2NodeClass."""

from __future__ import annotations

import json
from typing import Any

from dovetail.api.crds import crds
from dovetail.providers.aws.plugin import PLUGIN


def definition() -> dict[str, Any]:
    """As the API server takes it."""
    trees: list[dict[str, Any]] = json.loads(json.dumps(crds((PLUGIN.extension,))))
    (tree,) = (one for one in trees if one["spec"]["names"]["kind"] == "EC2NodeClass")
    return tree
