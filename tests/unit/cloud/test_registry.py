"""Providers are found by entry point."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from dovetail.cloud import registry
from dovetail.cloud.registry import ProviderContext
from dovetail.errors import InputError
from dovetail.testing.virtual_time import VirtualTime

ROOT = Path(__file__).parents[3]
KWOK = "dovetail.providers.kwok.provider:provider"


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


def test_kwok_comes_through_the_same_door() -> None:
    """The project itself declares it, and it can be loaded."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["entry-points"][registry.GROUP]
    assert declared["kwok"] == KWOK
    for name, value in declared.items():
        assert callable(EntryPoint(name, value, registry.GROUP).load())


def test_a_provider_that_somebody_installs_is_found(site: Path) -> None:
    """By its name, made of its surroundings."""
    install(site, "cloudlet", f"cloudlet = {KWOK}")
    assert "cloudlet" in registry.names()
    assert registry.load("cloudlet")(surroundings()).name == "kwok"


def test_an_unknown_provider_is_refused_with_those_there_are(site: Path) -> None:
    """So that a slip of the hand is seen at once."""
    install(site, "cloudlet", f"cloudlet = {KWOK}")
    with pytest.raises(InputError, match=r"no provider 'clowdlet': expected one of .*cloudlet"):
        registry.load("clowdlet")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("nowhere.at.all:provider", "cannot be loaded from nowhere", id="no module"),
        pytest.param(f"{KWOK}x", "cannot be loaded from .*providerx", id="no such name"),
        pytest.param("dovetail.labels:GROUP", "cannot be called", id="no function"),
    ],
)
def test_a_provider_that_cannot_be_loaded_says_why(site: Path, value: str, problem: str) -> None:
    """With where it was to come from."""
    install(site, "broken", f"broken = {value}")
    with pytest.raises(InputError, match=problem):
        registry.load("broken")


def test_what_is_no_provider_is_refused(site: Path) -> None:
    """An entry point may name anything; only a provider is used."""
    install(site, "hollow", "hollow = builtins:str")
    with pytest.raises(InputError, match="builtins:str made str, no provider"):
        registry.load("hollow")(surroundings())


def test_one_name_means_one_provider(site: Path) -> None:
    """Two distributions that claim it are both named."""
    install(site, "one", f"twin = {KWOK}")
    install(site, "two", "twin = builtins:str")
    with pytest.raises(InputError, match=r"more than once: builtins:str, dovetail\.providers"):
        registry.load("twin")
    install(site, "same", f"again = {KWOK}")
    install(site, "copy", f"again = {KWOK}")
    assert registry.load("again")(surroundings()).name == "kwok"
