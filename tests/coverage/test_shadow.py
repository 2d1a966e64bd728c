"""A dry run beside somebody who acts: what it tells, and that it leaves no trace."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dovetail.kube.seam import Json
from dovetail.settings.operator import OperatorSettings
from tests.coverage.stage import KWOK, NODE, NODE_POOL, POD, Stage, playing
from tests.doubles.troubled_kube import ApiCall, TroubledKube
from tests.unit.observe.scraped import values

CLOSED: Json = {"consolidateAfter": "30s", "budgets": [{"nodes": "0"}]}
OPEN: Json = {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]}


class Beside:
    """Somebody who acts, and a dry run that watches the same cluster."""

    def __init__(self) -> None:
        self.acting = Stage()
        self.calls: list[ApiCall] = []
        self.shadow = Stage(
            OperatorSettings(dry_run=True),
            held=self.acting,
            wrap=lambda kube: TroubledKube(kube, self.calls.append),
        )

    async def emptied(self) -> None:
        """A cluster with one node whose only pod has gone, and whose pool lets nothing go."""
        await self.acting.make(KWOK, "default")
        await self.acting.pool("default", disruption=CLOSED)
        await self.acting.pod("p1", "default")
        await self.pass_(minutes=2)
        assert len(await self.acting.names(NODE)) == 1
        await self.acting.delete(POD, "p1")
        await self.pass_(minutes=2)

    async def pass_(self, **span: float) -> None:
        """Let time pass for both."""
        await self.acting.time.advance(timedelta(**span))


async def test_a_neighbour_that_is_slower_to_tidy_up_costs_money() -> None:
    """An empty node is one move, however often it is decided; money runs for as long as it stands,
    and nothing is ever written: no lease, no event, no status.
    """
    both = Beside()
    async with playing(both.acting):
        await both.emptied()
    # Who acts has stopped: now its pool allows what it would not do.
    async with playing(both.shadow, has_world=False):
        await both.acting.patch(NODE_POOL, "default", {"spec": {"disruption": OPEN}})
        for weight in range(1, 7):  # something else happens, and it decides again
            await both.pass_(minutes=10)
            await both.acting.patch(NODE_POOL, "default", {"spec": {"weight": weight}})
        text = both.shadow.scrape()
        await both.shadow.replica.finish(1.0)
        (told,) = [one for one in both.shadow.said("would act") if one["n_disruptions"]]
        (end,) = both.shadow.said("dry run ended")
    assert both.calls
    assert [call for call in both.calls if call.is_write] == []
    saving = told["saving_per_hour"]
    assert isinstance(saving, float)
    assert saving > 0
    assert (end["total_disruptions"], end["total_nodes_removed"]) == (1, 1)
    assert end["saved_so_far"] == pytest.approx(saving, rel=0.05)
    assert values(text, "dovetail_shadow_disruptions_total", reason="Empty") == [1]
    assert values(text, "dovetail_shadow_saving_dollars_per_hour") == [saving]
    assert len(await both.acting.names(NODE)) == 1


async def test_what_its_neighbour_does_is_not_proposed_any_more() -> None:
    """The pod that it would have launched a node for gets one from somebody else."""
    both = Beside()
    async with playing(both.acting), playing(both.shadow, has_world=False):
        await both.acting.make(KWOK, "default")
        await both.acting.pool("default")
        await both.acting.pod("p1", "default")
        await both.pass_(minutes=10)
        await both.shadow.replica.finish(1.0)
        (end,) = both.shadow.said("dry run ended")
        n_told = len(both.shadow.said("would act"))
    assert n_told <= 1
    assert end["total_launches"] == n_told
    assert end["proposed_saving_per_hour"] == 0
    assert [call for call in both.calls if call.is_write] == []
