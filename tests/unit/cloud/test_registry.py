"""Providers are found by entry point."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest

from dovetail.cloud import registry
from dovetail.cloud.catalogues import OfflineCatalogues
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.plugin import ProviderPlugin
from dovetail.errors import InputError, PluginWarning
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.testing.virtual_time import VirtualTime

ROOT = Path(__file__).parents[3]
KWOK = "dovetail.providers.kwok.plugin:PLUGIN"


def load(name: str) -> ProviderPlugin[None, msgspec.Struct]:
    """A plugin whose provider never looks at a cluster."""
    return registry.load(name)


def surroundings() -> ProviderContext[None]:
    """For providers that never look."""
    time = VirtualTime()
    return ProviderContext(kube=None, clock=time, timer=time)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which distributions are looked for before all others."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def install(site: Path, name: str, lines: str) -> None:
    """Put a distribution with these entry points there."""
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[dovetail.providers]\n{lines}\n")


def test_built_in_providers_come_through_the_same_door() -> None:
    """The project itself declares them, and each can be loaded."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["entry-points"][registry.GROUP]
    assert declared["kwok"] == KWOK
    for name, value in declared.items():
        plugin = EntryPoint(name, value, registry.GROUP).load()
        assert isinstance(plugin, ProviderPlugin)
        assert plugin.name == name


async def test_a_provider_that_somebody_installs_is_found(site: Path) -> None:
    """By its name, made of its context with its default settings."""
    install(site, "cloudlet", f"cloudlet = {KWOK}")
    assert "cloudlet" in registry.names()
    async with registry.start_provider(registry.load("cloudlet"), surroundings()) as cloud:
        assert cloud.name == "kwok"


def test_an_unknown_provider_is_refused_with_those_there_are(site: Path) -> None:
    """So that a slip of the hand is seen at once."""
    install(site, "cloudlet", f"cloudlet = {KWOK}")
    with pytest.raises(InputError, match=r"no provider 'clowdlet': expected one of .*cloudlet"):
        load("clowdlet")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("nowhere.at.all:PLUGIN", "cannot be loaded from nowhere", id="no module"),
        pytest.param(f"{KWOK}S", "cannot be loaded from .*PLUGINS", id="no such name"),
        pytest.param("dovetail.labels:GROUP", "is str, expected a ProviderPlugin", id="no plugin"),
        pytest.param("builtins:str", "is type, expected a ProviderPlugin", id="a class"),
    ],
)
def test_a_provider_that_cannot_be_loaded_says_why(site: Path, value: str, problem: str) -> None:
    """With where it was to come from."""
    install(site, "broken", f"broken = {value}")
    with pytest.raises(InputError, match=problem):
        load("broken")


@pytest.mark.parametrize(
    "source",
    ["import nowhere_at_all", "PLUGIN =", "raise RuntimeError('no licence')", "PLUGIN = None"],
    ids=["a package is missing", "it is no Python", "it raises", "it names no plugin"],
)
def test_a_plugin_that_cannot_be_loaded_is_a_warning_and_the_others_serve(
    site: Path, source: str
) -> None:
    """The warning names it, and where it was to come from."""
    name = f"broken_plugin_{len(source)}"  # modules that were imported stay
    (site / f"{name}.py").write_text(source)
    install(site, "broken", f"broken = {name}:PLUGIN")
    with pytest.warns(PluginWarning, match=rf"provider 'broken'.* {name}:PLUGIN"):
        found = [plugin.name for plugin in installed_plugins()]
    assert "kwok" in found
    assert "broken" not in found


def installed_plugins() -> tuple[ProviderPlugin[None, msgspec.Struct], ...]:
    """Those of which the provider never looks at a cluster."""
    return registry.plugins()


def test_a_pool_whose_kind_no_plugin_brings_is_refused_with_the_broken_ones(site: Path) -> None:
    """It may be the kind of a plugin that cannot be loaded; pools of other kinds are served."""
    install(site, "broken", "broken = nowhere_at_all:PLUGIN")
    with pytest.warns(PluginWarning):
        catalogues = OfflineCatalogues()
    pool = NodePool("far", node_class=NodeClassRef("karpenter.far", "FarNodeClass", "default"))
    with pytest.raises(InputError, match=r"NodePool far: .*'FarNodeClass'.*provider 'broken'"):
        catalogues.of_pool(pool)
    near = NodePool("near", node_class=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"))
    assert catalogues.of_pool(near)


def test_what_a_plugin_makes_must_be_a_provider() -> None:
    """Whatever its types promise: other packages need not be checked."""
    hollow = msgspec.structs.replace(load("kwok"), make=lambda _context, _settings: "a cloud")
    with pytest.raises(InputError, match="provider 'kwok' made str, no provider"):
        registry.start_provider(hollow, surroundings())


async def test_a_provider_that_opens_something_is_closed_at_the_end() -> None:
    """`make` may give an async context manager."""
    closed: list[str] = []

    @asynccontextmanager
    async def opened(context: ProviderContext[None], settings: object) -> AsyncIterator[object]:
        async with registry.start_provider(load("kwok"), context) as cloud:
            yield cloud
        closed.append(type(settings).__name__)

    opening = msgspec.structs.replace(load("kwok"), make=opened)
    async with registry.start_provider(opening, surroundings()) as cloud:
        assert cloud.name == "kwok"
        assert closed == []
    assert closed == ["KwokSettings"]


def test_one_name_means_one_provider(site: Path) -> None:
    """Two distributions that claim it are both named."""
    install(site, "one", f"twin = {KWOK}")
    install(site, "two", "twin = builtins:str")
    with pytest.raises(InputError, match=r"more than once: builtins:str, dovetail\.providers"):
        load("twin")
    install(site, "same", f"again = {KWOK}")
    install(site, "copy", f"again = {KWOK}")
    assert load("again").name == "kwok"


def test_one_kind_has_one_provider(site: Path) -> None:
    """Two that bring the same kind, each as a type of its own, are both named."""
    (site / "rival_plugin.py").write_text(
        "import msgspec\n"
        "from dovetail import api\n"
        "from dovetail.providers.kwok.plugin import PLUGIN as KWOK\n"
        "definition = KWOK.extension.node_classes[0]\n"
        "kind = msgspec.structs.replace(definition.kind, wire_type=api.NodeClass)\n"
        "definition = msgspec.structs.replace(definition, kind=kind)\n"
        "extension = api.Extension(node_classes=(definition,))\n"
        "PLUGIN = msgspec.structs.replace(KWOK, name='rival', extension=extension)\n"
    )
    install(site, "rival", "rival = rival_plugin:PLUGIN")
    with pytest.raises(InputError, match=r"'kwok' and 'rival' both bring KWOKNodeClass\.karpenter"):
        registry.extensions()
