"""How is a gauge written that Prometheus reads? By hand, in parts, where there are many series.

A scrape of a large cluster is tens of thousands of lines. They are made a few hundred at a time, so
that others run between two parts, and nothing is kept from one scrape to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

_PART: Final = 500  # lines
_ESCAPED: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def gauge(name: str, help_text: str, lines: Iterable[str]) -> Iterator[str]:
    """A gauge with its heading, in parts; each line as `series` makes it."""
    yield f"# HELP {name} {help_text}\n# TYPE {name} gauge\n"
    waiting = iter(lines)
    while part := list(islice(waiting, _PART)):
        yield "".join(part)


def series(name: str, labelled: str, value: float) -> str:
    """One line. `labelled` is as `label_text` makes it."""
    return f"{name}{{{labelled}}} {value:.10g}\n"


def label_text(labels: Mapping[str, str]) -> str:
    """Labels as they stand between braces."""
    return ",".join(f'{key}="{escaped(value)}"' for key, value in labels.items())


def escaped(value: str) -> str:
    """A label's value as it stands between quotation marks."""
    if "\\" in value or '"' in value or "\n" in value:
        return value.translate(_ESCAPED)
    return value
