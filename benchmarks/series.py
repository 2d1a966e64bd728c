"""Which machine families does the large benchmark catalogue have? Modelled on EC2, not copied.

Names, shapes and price levels are those of a large cloud, so that the catalogue has its real
structure: nearly linear prices in a family, near ties between families, a few absurd machines.
The figures are rounded models; `dovetail catalog` shows the real ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

AMD64: Final = "amd64"
ARM64: Final = "arm64"


class Series(NamedTuple):
    """A family of machines that differ only in size."""

    family: str
    category: str
    generation: int
    arch: str
    gib_per_cpu: float
    usd_per_cpu: float
    cpus: tuple[int, ...]  # the last size twice: the second is the bare machine, a tie
    gpus: tuple[int, ...] = ()  # one for each size, or none at all


class _Processor(NamedTuple):
    suffix: str
    arch: str
    price_factor: float
    cpus: tuple[int, ...]
    variants: tuple[str, ...]


_TO_96: Final = (2, 4, 8, 16, 32, 48, 64, 96)
_TO_128: Final = (*_TO_96, 128)
_TO_192: Final = (*_TO_128, 192)
_FROM_1_TO_64: Final = (1, 2, 4, 8, 16, 32, 48, 64)
_FROM_1_TO_192: Final = (1, *_TO_96, 192)

# Price of a variant relative to its plain family: local disks, more network, both.
_VARIANT_FACTOR: Final = {"": 1.0, "d": 1.18, "n": 1.25, "dn": 1.42}
_PLAIN_AND_DISK: Final = ("", "d")
_ALL_VARIANTS: Final = tuple(_VARIANT_FACTOR)

_PROCESSORS: Final = (
    _Processor("5", AMD64, 1.0, _TO_96, _ALL_VARIANTS),
    _Processor("5a", AMD64, 0.896, _TO_96, _PLAIN_AND_DISK),
    _Processor("6i", AMD64, 1.0, _TO_128, _ALL_VARIANTS),
    _Processor("6a", AMD64, 0.9, _TO_192, _PLAIN_AND_DISK),
    _Processor("6g", ARM64, 0.802, _FROM_1_TO_64, _ALL_VARIANTS),
    _Processor("7i", AMD64, 1.05, _TO_192, _ALL_VARIANTS),
    _Processor("7a", AMD64, 1.207, _FROM_1_TO_192, _PLAIN_AND_DISK),
    _Processor("7g", ARM64, 0.85, _FROM_1_TO_64, _ALL_VARIANTS),
    _Processor("8i", AMD64, 1.103, _TO_192, _PLAIN_AND_DISK),
    _Processor("8a", AMD64, 1.267, _FROM_1_TO_192, _PLAIN_AND_DISK),
    _Processor("8g", ARM64, 0.935, _FROM_1_TO_192, _ALL_VARIANTS),
)
# Category, GiB of memory per cpu, price of a cpu of the fifth generation.
_MAINSTREAM: Final = (("c", 2.0, 0.0425), ("m", 4.0, 0.048), ("r", 8.0, 0.063))

_SPECIAL: Final = (
    Series("t2", "t", 2, AMD64, 4.0, 0.0464, (1, 2, 4, 8)),
    Series("t3", "t", 3, AMD64, 4.0, 0.0416, (2, 4, 8)),
    Series("t3a", "t", 3, AMD64, 4.0, 0.0376, (2, 4, 8)),
    Series("t4g", "t", 4, ARM64, 4.0, 0.0336, (2, 4, 8)),
    Series("m4", "m", 4, AMD64, 4.0, 0.05, (2, 4, 8, 16, 40, 64)),
    Series("c4", "c", 4, AMD64, 1.875, 0.0498, (2, 4, 8, 16, 36)),
    Series("r4", "r", 4, AMD64, 7.625, 0.0665, (2, 4, 8, 16, 32, 64)),
    Series("m5zn", "m", 5, AMD64, 4.0, 0.0826, (2, 4, 8, 12, 24, 48)),
    Series("r7iz", "r", 7, AMD64, 8.0, 0.093, (2, 4, 8, 16, 32, 48, 64, 128)),
    Series("m7iflex", "m", 7, AMD64, 4.0, 0.0479, (2, 4, 8, 16, 32)),
    Series("c7iflex", "c", 7, AMD64, 2.0, 0.0424, (2, 4, 8, 16, 32)),
    Series("m8iflex", "m", 8, AMD64, 4.0, 0.0503, (2, 4, 8, 16, 32, 64)),
    Series("c8iflex", "c", 8, AMD64, 2.0, 0.0445, (2, 4, 8, 16, 32, 64)),
    Series("x1", "x", 1, AMD64, 15.25, 0.1042, (64, 128)),
    Series("x1e", "x", 1, AMD64, 30.5, 0.2085, (4, 8, 16, 32, 64, 128)),
    Series("x2gd", "x", 2, ARM64, 16.0, 0.0835, _FROM_1_TO_64),
    Series("x2idn", "x", 2, AMD64, 16.0, 0.1042, (64, 96, 128)),
    Series("x2iedn", "x", 2, AMD64, 32.0, 0.2084, (4, 8, 16, 32, 64, 96, 128)),
    Series("x8g", "x", 8, ARM64, 16.0, 0.0977, _FROM_1_TO_192),
    Series("z1d", "z", 1, AMD64, 8.0, 0.093, (2, 4, 8, 12, 24, 48)),
    Series("i3", "i", 3, AMD64, 7.625, 0.078, (2, 4, 8, 16, 32, 64)),
    Series("i3en", "i", 3, AMD64, 8.0, 0.113, (2, 4, 8, 12, 24, 48, 96)),
    Series("i4i", "i", 4, AMD64, 8.0, 0.0858, _TO_128),
    Series("i4g", "i", 4, ARM64, 8.0, 0.0772, (2, 4, 8, 16, 32, 64)),
    Series("i7ie", "i", 7, AMD64, 8.0, 0.13, (2, 4, 8, 12, 24, 48, 72, 96, 192)),
    Series("i8g", "i", 8, ARM64, 8.0, 0.0858, (2, 4, 8, 16, 32, 48, 64, 96)),
    Series("im4gn", "i", 4, ARM64, 4.0, 0.0909, (2, 4, 8, 16, 32, 64)),
    Series("is4gen", "i", 4, ARM64, 6.0, 0.144, (1, 2, 4, 8, 16, 32)),
    Series("d3", "d", 3, AMD64, 8.0, 0.125, (4, 8, 16, 32)),
    Series("d3en", "d", 3, AMD64, 4.0, 0.132, (4, 8, 16, 24, 32, 48)),
    Series("h1", "h", 1, AMD64, 4.0, 0.0585, (8, 16, 32, 64)),
    Series("g4dn", "g", 4, AMD64, 4.0, 0.11, (4, 8, 16, 32, 48, 64, 96), (1, 1, 1, 1, 4, 1, 8)),
    Series(
        "g5", "g", 5, AMD64, 4.0, 0.18, (4, 8, 16, 32, 48, 64, 96, 192), (1, 1, 1, 1, 4, 1, 4, 8)
    ),
    Series("g5g", "g", 5, ARM64, 2.0, 0.085, (4, 8, 16, 32, 64), (1, 1, 1, 1, 2)),
    Series(
        "g6", "g", 6, AMD64, 4.0, 0.16, (4, 8, 16, 32, 48, 64, 96, 192), (1, 1, 1, 1, 4, 1, 4, 8)
    ),
    Series(
        "g6e", "g", 6, AMD64, 8.0, 0.28, (4, 8, 16, 32, 48, 64, 96, 192), (1, 1, 1, 1, 4, 1, 4, 8)
    ),
    Series("p3", "p", 3, AMD64, 7.625, 0.3825, (8, 32, 64), (1, 4, 8)),
    Series("p4d", "p", 4, AMD64, 12.0, 0.3414, (96,), (8,)),
    Series("p5", "p", 5, AMD64, 10.67, 0.512, (192,), (8,)),
)


def series() -> Iterator[Series]:
    """Every family, in a fixed order."""
    for processor in _PROCESSORS:
        for category, gib_per_cpu, usd_per_cpu in _MAINSTREAM:
            for variant in processor.variants:
                yield Series(
                    family=f"{category}{processor.suffix}{variant}",
                    category=category,
                    generation=int(processor.suffix[0]),
                    arch=processor.arch,
                    gib_per_cpu=gib_per_cpu,
                    usd_per_cpu=usd_per_cpu * processor.price_factor * _VARIANT_FACTOR[variant],
                    cpus=(*processor.cpus, *_bare_metal(processor)),
                )
    yield from _SPECIAL


def _bare_metal(processor: _Processor) -> tuple[int, ...]:
    return () if processor.suffix.endswith("a") else processor.cpus[-1:]
