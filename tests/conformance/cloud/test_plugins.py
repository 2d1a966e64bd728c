"""The built-in plugins obey the laws of all plugins."""

from __future__ import annotations

import pytest

from dovetail.cloud import registry
from dovetail.testing import plugin_conformance


@pytest.mark.parametrize("name", ["aws", "kwok"])
@pytest.mark.parametrize("law", plugin_conformance.LAWS, ids=lambda law: law.__name__)
def test_a_built_in_plugin_obeys(law: plugin_conformance.PluginLaw, name: str) -> None:
    """As those of other packages do."""
    law(registry.load(name))
