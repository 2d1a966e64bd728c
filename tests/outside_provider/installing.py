"""Installs the provider of this folder, as pip would: on the path, with its entry points."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
SOURCE: Final = FOLDER / "src"


def install(site: Path) -> tuple[str, ...]:
    """Write the metadata of the distribution there; the folders that belong on the path."""
    tree = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))
    project = tree["project"]
    name, version = project["name"], project["version"]
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"]
    (info / "METADATA").write_text("".join(lines), encoding="utf-8")
    groups = project["entry-points"]
    text = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in names.items())
        for group, names in groups.items()
    )
    (info / "entry_points.txt").write_text(text, encoding="utf-8")
    return (str(site), str(SOURCE))
