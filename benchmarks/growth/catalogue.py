"""What if a cloud sold a hundred types, or five thousand? Parts of the large catalogue, and more.

Fewer types are a sample of the cloud's. More are the cloud's, then its families again as somebody
else might build them: other names, more or less memory, another price level, other spot prices.
A larger catalogue holds all of a smaller one, so that only what is added makes the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Final

import msgspec

from benchmarks import catalogues
from benchmarks.catalogues import FAMILY
from benchmarks.seeds import seeded
from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.requirements import Requirements

_MEMORY_PERCENT: Final = (75, 125, 150)  # of what the cloud's own family has
_PRICE_LOW: Final = 0.90
_PRICE_HIGH: Final = 1.15


def catalogue(n_types: int, seed: int = 1) -> tuple[InstanceType, ...]:
    """So many types, no two of one name."""
    return tuple(islice(_endless(seed), n_types))


def _endless(seed: int) -> Iterator[InstanceType]:
    for round_ in count():
        kinds = list(catalogues.cloud(seed + round_))
        seeded(f"catalogue {round_}", seed).shuffle(kinds)
        yield from (_variant(kind, round_, seed) if round_ else kind for kind in kinds)


def _variant(kind: InstanceType, round_: int, seed: int) -> InstanceType:
    """The same as another maker builds it; sizes of one family change alike."""
    settled = kind.requirements.single_values()
    family = f"{settled[FAMILY]}v{round_}"
    name = f"{family}.{kind.name.partition('.')[2]}"
    chance = seeded(f"variant {family}", seed)
    percent = chance.choice(_MEMORY_PERCENT)
    memory = kind.capacity["memory"] * percent // 100
    more = memory - kind.capacity["memory"]
    price = chance.uniform(_PRICE_LOW, _PRICE_HIGH)
    renamed = {labels.INSTANCE_TYPE: name, FAMILY: family}
    open_ = [one for one in kind.requirements.sorted() if one.key not in settled]
    return InstanceType(
        name=name,
        requirements=Requirements.of_labels(settled | renamed) & open_,
        capacity={**kind.capacity, "memory": memory},
        # The smallest types may keep more for themselves than three quarters leave them.
        allocatable={**kind.allocatable, "memory": max(0, kind.allocatable["memory"] + more)},
        offerings=tuple(
            msgspec.structs.replace(one, price_nanousd=round(one.price_nanousd * price))
            for one in kind.offerings
        ),
    )
