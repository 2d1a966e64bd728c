"""What is compared with the reference, and by how much must it be better?"""

from __future__ import annotations

from typing import Final, NamedTuple


class PeerRow(NamedTuple):
    """One scenario for both. `speed` is at least, `price` (of the reference's) and `bound` are at
    most. Where the reference takes less than ten seconds, a `swift` row must take less than 0.3.
    """

    scenario: str
    n_pods: int
    speed: float | None = None
    price: float | None = None
    bound: float | None = None
    is_swift: bool = False

    @property
    def name(self) -> str:
        """As it is called on the command line."""
        return f"{self.scenario}-{self.n_pods}"


SWIFT_SECONDS: Final = 0.3
LONG_SECONDS: Final = 10.0  # of the reference; from there on a ratio says more
MANY_PODS: Final = 5_000  # from there on memory is compared, too

ROWS: Final = (
    PeerRow("reference", 1_000),
    PeerRow("reference", 5_000, speed=40, price=0.80, bound=1.15),
    PeerRow("reference", 20_000, speed=100, price=0.80, bound=1.15),
    PeerRow("production", 5_000, speed=60, price=0.50, bound=1.03),
    PeerRow("production", 14_800),
    PeerRow("production", 20_000, speed=200, price=0.50, bound=1.02),
    PeerRow("wide_fleet", 5_000),
    PeerRow("wide_plain", 5_000, speed=40, price=0.60, bound=1.02),
    PeerRow("wide_plain", 20_000, speed=300, price=0.60, bound=1.02),
    PeerRow("wide_on_demand", 5_000, speed=40, price=0.75, bound=1.02),
    PeerRow("gpus", 2_000),
    PeerRow("huge", 10_000),
    PeerRow("crumbs", 5_000),
    PeerRow("wishful", 5_000),
    PeerRow("host_surge", 2_000, speed=50, price=1.0, is_swift=True),
    PeerRow("zone_surge", 2_000, speed=50, price=1.0, is_swift=True),
    PeerRow("crowd", 2_170, speed=50, price=1.0, is_swift=True),
)


def selected(only: str | None) -> tuple[PeerRow, ...]:
    """The rows that a name means: one, or all of a scenario."""
    return tuple(row for row in ROWS if only is None or only in {row.name, row.scenario})
