"""What an installation with each built-in provider is made of, for tests."""

from __future__ import annotations

from typing import Any

from dovetail.providers.aws.plugin import PLUGIN as AWS_PLUGIN
from dovetail.providers.kwok.plugin import PLUGIN

KWOK: dict[str, Any] = {
    "provider": PLUGIN.name,
    "extensions": (PLUGIN.extension,),
    "access": PLUGIN.access,
}
AWS: dict[str, Any] = {
    "provider": AWS_PLUGIN.name,
    "extensions": (AWS_PLUGIN.extension,),
    "access": AWS_PLUGIN.access,
}
READING = PLUGIN.access.reading
RIGHTS = (*READING, *PLUGIN.access.writing)
RIGHTS_WITH_KUBELETS = (*RIGHTS, *PLUGIN.access.kubelets)
