"""Draws the packages and who imports whom. `python -m tests.house.drawing` writes the picture.

Rows are the layers of `pyproject.toml`. An arrow is drawn where a package imports another, unless
other arrows lead there already. Arrows to the leaves in the last row are left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Final, NamedTuple

from tests.house.modules import ROOT, Module, modules

PICTURE: Final = ROOT / "docs" / "architecture.svg"
CORE, BORDER, SHOWN, STAND_IN, ROOTS = "#cfe3ff", "#d9f2dc", "#fdf0c4", "#eee4f7", "#e7e9ec"
# What each package is for, in a few words, and its colour.
PACKAGES: Final = {
    "cli": ("one file for each command", SHOWN),
    "app": ("wires the offline commands", ROOTS),
    "live": ("wires the controller", ROOTS),
    "testing": ("builders for tests", STAND_IN),
    "web": ("the page, metrics, health", SHOWN),
    "sim": ("stand-ins and simulations", STAND_IN),
    "controllers": ("the loops", BORDER),
    "apiserver": ("an API server in memory", STAND_IN),
    "actuate": ("carries out effects", BORDER),
    "observe": ("logs, events, metrics", BORDER),
    "providers": ("the clouds: kwok, aws", BORDER),
    "generator": ("NodePools from requests", BORDER),
    "migration": ("checks before a swap", BORDER),
    "present": ("what is shown of a plan", SHOWN),
    "state": ("wire objects to a snapshot", BORDER),
    "kube": ("manifests and the live API", BORDER),
    "cloud": ("what a provider must do", BORDER),
    "settings": ("flags and files", BORDER),
    "decide": ("snapshot, now -> plan", CORE),
    "solve": ("packs pods, proves the price", CORE),
    "api": ("wire types, validation", BORDER),
    "model": ("the nouns of a decision", CORE),
    "units": ("quantities, money, cron", CORE),
    "labels": ("label keys", ROOTS),
    "clock": ("the wall clock", ROOTS),
    "errors": ("the tree of errors", ROOTS),
    "loopback": ("guards of local servers", ROOTS),
}
COLOURS: Final = {
    "pure core": CORE,
    "border: reads and acts": BORDER,
    "shows": SHOWN,
    "stands in": STAND_IN,
    "roots and leaves": ROOTS,
}
_STYLE: Final = "<style>text {font-family: sans-serif}</style>"
_HEAD: Final = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#5b6570"/></marker></defs>'
)
_WIDTH, _HEIGHT, _GAP, _ROW, _MARGIN = 176, 44, 18, 84, 24


class Box(NamedTuple):
    """A package in the picture; `x` and `y` are its upper left corner."""

    name: str
    x: float
    y: float


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(picture(), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))


def picture() -> str:
    """The picture as SVG."""
    rows = layers()
    arrows = reduced(package_imports(modules()), leaves=rows[-1])
    boxes = {box.name: box for box in _placed(rows, arrows)}
    width = max(box.x for box in boxes.values()) + _WIDTH + _MARGIN
    height = max(box.y for box in boxes.values()) + _HEIGHT + 2 * _MARGIN + 14
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">',
        "<title>The packages of Dovetail and who imports whom</title>",
        _STYLE,
        _HEAD,
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
        *_arrow_lines(boxes, arrows),
        *(_box_line(box) for box in boxes.values()),
        *_legend(height - _MARGIN),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def layers() -> list[list[str]]:
    """The layers, the highest first, as the import contract has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [contract] = [one for one in contracts if one["type"] == "layers"]
    return [[name.strip(" ()") for name in row.split("|")] for row in contract["layers"]]


def package_imports(found: Mapping[str, Module]) -> dict[str, set[str]]:
    """Which package imports which, from all modules."""
    imports: dict[str, set[str]] = {}
    for module in found.values():
        for name in module.imports:
            _, importer, *_ = (*module.name.split("."), "")
            _, imported, *_ = (*name.split("."), "")
            if importer and imported and importer != imported:
                imports.setdefault(importer, set()).add(imported)
    return imports


def reduced(imports: Mapping[str, set[str]], leaves: list[str]) -> dict[str, list[str]]:
    """The imports without those of leaves and without those that others imply."""
    kept = {name: found - set(leaves) for name, found in imports.items() if name not in leaves}
    return {
        name: sorted(
            one
            for one in found
            if not any(one in _reached(kept, other) for other in found if other != one)
        )
        for name, found in sorted(kept.items())
    }


def _reached(imports: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        fresh = imports.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found


def _placed(rows: list[list[str]], arrows: Mapping[str, list[str]]) -> Iterator[Box]:
    """Rows in the middle of the picture, each ordered by where its importers stand."""
    widest = max(map(len, rows)) * (_WIDTH + _GAP) - _GAP
    middle_of: dict[str, float] = {}
    for number, row in enumerate(rows):
        order = sorted(row, key=lambda name: (_middle(name, arrows, middle_of, widest), name))
        left = _MARGIN + (widest - len(row) * (_WIDTH + _GAP) + _GAP) / 2
        for place, name in enumerate(order):
            box = Box(name, left + place * (_WIDTH + _GAP), _MARGIN + number * _ROW)
            middle_of[name] = box.x + _WIDTH / 2
            yield box


def _middle(
    name: str, arrows: Mapping[str, list[str]], middle_of: Mapping[str, float], widest: float
) -> float:
    above = [middle_of[one] for one, found in arrows.items() if name in found and one in middle_of]
    return sum(above) / len(above) if above else widest / 2


def _arrow_lines(boxes: Mapping[str, Box], arrows: Mapping[str, list[str]]) -> Iterator[str]:
    ends = {
        name: sorted((one for one, found in arrows.items() if name in found), key=_by_x(boxes))
        for name in boxes
    }
    for name, found in arrows.items():
        starts = sorted(found, key=_by_x(boxes))
        for one in starts:
            x1 = boxes[name].x + _port(starts.index(one), len(starts))
            x2 = boxes[one].x + _port(ends[one].index(name), len(ends[one]))
            y1, y2 = boxes[name].y + _HEIGHT, boxes[one].y
            bend = (y2 - y1) / 2
            yield (
                f'<path d="M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}" '
                'fill="none" stroke="#5b6570" stroke-opacity="0.7" marker-end="url(#head)"/>'
            )


def _by_x(boxes: Mapping[str, Box]) -> Callable[[str], tuple[float, str]]:
    return lambda name: (boxes[name].x, name)


def _port(number: int, n_ports: int) -> float:
    """Where along a side of a box the arrow of this number begins or ends."""
    return _WIDTH * (number + 1) / (n_ports + 1)


def _box_line(box: Box) -> str:
    says, colour = PACKAGES[box.name]
    middle = box.x + _WIDTH / 2
    return (
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" '
        f'fill="{colour}" stroke="#5b6570"/>'
        f'<text x="{middle:g}" y="{box.y + 18:g}" text-anchor="middle" font-size="14" '
        f'font-weight="bold" fill="#1c2126">{box.name}</text>'
        f'<text x="{middle:g}" y="{box.y + 34:g}" text-anchor="middle" font-size="11" '
        f'fill="#1c2126">{escape(says)}</text>'
    )


def _legend(y: float) -> Iterator[str]:
    for number, (says, colour) in enumerate(COLOURS.items()):
        x = _MARGIN + number * _WIDTH
        yield (
            f'<rect x="{x:g}" y="{y - 10:g}" width="14" height="14" fill="{colour}" '
            'stroke="#5b6570"/>'
            f'<text x="{x + 20:g}" y="{y + 1:g}" font-size="11" fill="#1c2126">{says}</text>'
        )


if __name__ == "__main__":
    main()
