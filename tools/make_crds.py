"""Writes the chart's custom resource definitions anew, one file for each, from `dovetail crds`."""

from __future__ import annotations

from pathlib import Path

import yaml

from dovetail.api.crds import crds, stream
from dovetail.cloud.registry import extensions

FILES = Path(__file__).parents[1] / "charts" / "dovetail-crd" / "files"


def main() -> None:
    """Replace all files."""
    for old in FILES.glob("*.yaml"):
        old.unlink()
    for tree in crds(extensions()):
        text = stream([tree])
        plural, _, group = yaml.safe_load(text)["metadata"]["name"].partition(".")
        path = FILES / f"{group}_{plural}.yaml"
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(FILES.parents[2]))


if __name__ == "__main__":
    main()
