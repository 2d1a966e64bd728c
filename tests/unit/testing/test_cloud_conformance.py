"""The conformance suite catches clouds that break their promises."""

from __future__ import annotations

import msgspec
import pytest

from dovetail import labels
from dovetail.cloud.errors import NodeClaimNotFoundError
from dovetail.cloud.provider import Instance
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodePool
from dovetail.model.requirements import requirement
from dovetail.providers.kwok.catalogue import instance_types
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.testing import cloud_conformance
from tests.conformance.cloud.pretended import PretendedCloud

Types = tuple[InstanceType, ...]


class ForgetfulProvider(KwokProvider):
    """Knows only what it launched itself."""

    mine: frozenset[str] = frozenset()

    async def create(self, claim: ClaimObject) -> Instance:
        """And remembers it."""
        made = await super().create(claim)
        self.mine |= {made.provider_id}
        return made

    async def list(self) -> tuple[Instance, ...]:
        """Its own."""
        return tuple(one for one in await super().list() if one.provider_id in self.mine)


class DoublingProvider(KwokProvider):
    """Launches anew whenever it is asked."""

    n_calls = 0

    async def create(self, claim: ClaimObject) -> Instance:
        """Under another name each time."""
        DoublingProvider.n_calls += 1
        name = f"{claim.name}-{DoublingProvider.n_calls}"
        return await super().create(msgspec.structs.replace(claim, name=name))


class LingeringProvider(KwokProvider):
    """Deletes nothing, and says so cheerfully."""

    async def delete(self, provider_id: str) -> None:
        """As if."""
        await self.get(provider_id)


class DenyingProvider(KwokProvider):
    """Lists what it then does not find."""

    async def get(self, provider_id: str) -> Instance:
        """Nothing at all."""
        raise NodeClaimNotFoundError(provider_id)


class ObliviousProvider(KwokProvider):
    """Does not look at requirements."""

    async def create(self, claim: ClaimObject) -> Instance:
        """Whatever is cheapest."""
        return await super().create(msgspec.structs.replace(claim, requirements=()))


class RudeProvider(KwokProvider):
    """Fails in ways of its own."""

    async def create(self, claim: ClaimObject) -> Instance:
        """With an error that nobody can react to."""
        raise KeyError(claim.name)


class HidingProvider(KwokProvider):
    """Shows only what it can sell."""

    async def instance_types(self, pool: NodePool) -> Types:
        """Types that still have an offering."""
        if not self.faults.all_faults:
            return await super().instance_types(pool)
        return (await super().instance_types(pool))[:1]


class VagueProvider(KwokProvider):
    """Leaves labels unsaid."""

    async def instance_types(self, pool: NodePool) -> Types:
        """Without those that a type does not have."""
        types = await super().instance_types(pool)
        return tuple(
            msgspec.structs.replace(
                one,
                requirements=type(one.requirements)(
                    held for held in one.requirements.values() if held.values
                ),
            )
            for one in types
        )


class DearProvider(KwokProvider):
    """Never sells spot."""

    async def create(self, claim: ClaimObject) -> Instance:
        """On demand alone."""
        dear = requirement(labels.CAPACITY_TYPE, "In", [labels.ON_DEMAND])
        asked = (*claim.requirements, dear)
        return await super().create(msgspec.structs.replace(claim, requirements=asked))


async def verdict(law: cloud_conformance.Law, kind: type[KwokProvider]) -> bool:
    """Whether a cloud of this kind obeys the law."""
    cloud = PretendedCloud(instance_types(), kind)
    await cloud.node_class()
    try:
        await law(cloud)
    except Exception:  # noqa: BLE001  a cloud may break a law in any way it likes
        return False
    return True


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (
            ForgetfulProvider,
            cloud_conformance.a_list_shows_what_get_shows_and_nothing_else,
        ),
        (
            DoublingProvider,
            cloud_conformance.a_claim_has_one_instance_however_often_it_is_created,
        ),
        (
            DoublingProvider,
            cloud_conformance.a_claim_has_one_instance_though_many_create_it_at_once,
        ),
        (
            DoublingProvider,
            cloud_conformance.a_claim_has_one_instance_though_a_launch_broke_off,
        ),
        (LingeringProvider, cloud_conformance.a_deleted_instance_ends_as_not_found),
        (LingeringProvider, cloud_conformance.a_deletion_may_be_repeated),
        (DenyingProvider, cloud_conformance.a_list_shows_what_get_shows_and_nothing_else),
        (ObliviousProvider, cloud_conformance.a_launch_is_what_its_claim_asks_for),
        (ObliviousProvider, cloud_conformance.a_launch_that_cannot_be_had_says_what_is_sold_out),
        (RudeProvider, cloud_conformance.a_launch_fails_in_one_of_five_ways),
        (HidingProvider, cloud_conformance.instance_types_include_what_cannot_be_had),
        (VagueProvider, cloud_conformance.instance_types_state_every_well_known_label),
        (DearProvider, cloud_conformance.a_launch_takes_the_cheapest_that_can_be_had),
    ],
)
async def test_a_broken_cloud_is_found_out(
    kind: type[KwokProvider], law: cloud_conformance.Law
) -> None:
    """By the law that it breaks, which a sound cloud obeys."""
    assert (await verdict(law, KwokProvider), await verdict(law, kind)) == (True, False)
