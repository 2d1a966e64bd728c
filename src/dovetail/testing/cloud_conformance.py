"""Tests the laws that every cloud provider obeys, for its author to run.

    @pytest.mark.parametrize("law", cloud_conformance.LAWS, ids=lambda law: law.__name__)
    def test_my_cloud_obeys(law: cloud_conformance.Law) -> None:
        async def judge() -> None:
            async with my_cloud() as cloud:  # a fresh, empty cloud, see `CloudUnderTest`
                await law(cloud)

        asyncio.run(judge())

A law that is broken raises AssertionError. A cloud needs room for a dozen instances, at least two
zones, and at least two offerings that differ in price.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from dovetail import labels
from dovetail.cloud.errors import (
    CloudError,
    CreateError,
    InsufficientCapacityError,
    NodeClaimNotFoundError,
    NodeClassNotReadyError,
    SoldOut,
    UnevaluatedNodePoolError,
)
from dovetail.model.node import Node
from dovetail.model.pool import NodeClassRef
from dovetail.model.requirements import requirement
from dovetail.testing.cloud_under_test import (
    CloudUnderTest,
    breaks_off,
    identity,
    ids,
    must_not_be_found,
    offered,
    sold_out,
    taken,
    until_gone,
)

ERRORS: Final = (
    NodeClaimNotFoundError,
    InsufficientCapacityError,
    NodeClassNotReadyError,
    CreateError,
    UnevaluatedNodePoolError,
)
_MOST_MOMENTS: Final = 500  # until a call is done
_ENDLESS: Final = f"not done after {_MOST_MOMENTS} moments"
_SYSTEM: Final = requirement(labels.OS, "In", ["linux"])


Law = Callable[[CloudUnderTest], Awaitable[None]]


async def a_launch_is_what_its_claim_asks_for(cloud: CloudUnderTest) -> None:
    """Every requirement holds for the labels, and the size is that of the type."""
    zone = max(at.zone for _, at in await offered(cloud, ()))
    asked = (requirement(labels.ZONE, "In", [zone]), _SYSTEM)
    claim = await cloud.claim("asked", *asked)
    made = await cloud.provider.create(claim)
    assert all(item.admits(made.labels.get(item.key)) for item in asked), made.labels
    assert (made.node_claim, made.node_claim_uid) in {(claim.name, claim.uid), ("", "")}
    (instance_type,) = [
        item
        for item in await cloud.provider.instance_types(cloud.pool)
        if item.name == made.labels[labels.INSTANCE_TYPE]
    ]
    assert all(made.capacity[name] == amount for name, amount in instance_type.capacity.items())
    assert all(made.allocatable[name] <= made.capacity[name] for name in instance_type.allocatable)
    assert made.provider_id
    assert not made.is_terminating


async def a_claim_has_one_instance_however_often_it_is_created(cloud: CloudUnderTest) -> None:
    """Again, by another replica, and once the machine is up."""
    claim = await cloud.claim("once", _SYSTEM)
    made = await cloud.provider.create(claim)
    again = [await cloud.provider.create(claim), await cloud.restarted().create(claim)]
    await cloud.settle()
    again += [await cloud.provider.create(claim), await cloud.restarted().create(claim)]
    assert [identity(instance) for instance in again] == [identity(made)] * len(again)
    assert await ids(cloud.provider) == [made.provider_id]


async def a_claim_has_one_instance_though_many_create_it_at_once(cloud: CloudUnderTest) -> None:
    """All get the same answer."""
    claim = await cloud.claim("many", _SYSTEM)
    other = cloud.restarted()
    calls = [cloud_provider.create(claim) for cloud_provider in (cloud.provider, other) * 4]
    made = await asyncio.gather(*calls)
    await cloud.settle()
    assert {identity(instance) for instance in made} == {identity(made[0])}
    assert await ids(cloud.provider) == [made[0].provider_id]


async def a_claim_has_one_instance_though_a_launch_broke_off(cloud: CloudUnderTest) -> None:
    """Wherever the process died in the middle of it, the next one finishes the launch."""
    for n_moments in range(_MOST_MOMENTS):
        claim = await cloud.claim(f"broken-off-{n_moments}", _SYSTEM)
        is_done = not await breaks_off(cloud, cloud.restarted().create(claim), n_moments)
        made = await cloud.restarted().create(claim)
        await cloud.settle()
        mine = [item for item in await cloud.provider.list() if item.node_claim_uid == claim.uid]
        assert [identity(item) for item in mine] == [identity(made)], f"after {n_moments} moments"
        await until_gone(cloud, made.provider_id)
        if is_done:
            return
    raise AssertionError(_ENDLESS)


async def a_launched_claim_keeps_its_instance_when_all_is_sold_out(cloud: CloudUnderTest) -> None:
    """A second call is not a second launch, so it needs no capacity."""
    claim = await cloud.claim("kept", _SYSTEM)
    made = await cloud.provider.create(claim)
    for instance_type, at in await offered(cloud, claim.requirements):
        await cloud.sell_out(sold_out(instance_type, at))
    assert identity(await cloud.provider.create(claim)) == identity(made)


async def claims_have_instances_of_their_own(cloud: CloudUnderTest) -> None:
    """Also when they ask for the same."""
    claims = [await cloud.claim(f"own-{number}", _SYSTEM) for number in range(3)]
    made = await asyncio.gather(*[cloud.provider.create(claim) for claim in claims])
    assert len({instance.provider_id for instance in made}) == len(claims)
    assert await ids(cloud.provider) == sorted(instance.provider_id for instance in made)


async def a_deleted_instance_ends_as_not_found(cloud: CloudUnderTest) -> None:
    """Whether it was up or still starting; others stay."""
    kept = await cloud.provider.create(await cloud.claim("stays", _SYSTEM))
    early = await cloud.provider.create(await cloud.claim("goes-early", _SYSTEM))
    await until_gone(cloud, early.provider_id)
    late = await cloud.provider.create(await cloud.claim("goes-late", _SYSTEM))
    await cloud.settle()
    await until_gone(cloud, late.provider_id)
    assert await ids(cloud.provider) == [kept.provider_id]


async def a_deletion_may_be_repeated(cloud: CloudUnderTest) -> None:
    """By several at once, after the end, and by a provider that knows nothing of it."""
    made = await cloud.provider.create(await cloud.claim("repeated", _SYSTEM))
    calls = [item.delete(made.provider_id) for item in (cloud.provider, cloud.restarted()) * 2]
    told = await asyncio.gather(*calls, return_exceptions=True)
    assert all(item is None or isinstance(item, NodeClaimNotFoundError) for item in told), told
    await until_gone(cloud, made.provider_id)
    for provider in (cloud.provider, cloud.restarted()):
        await must_not_be_found(provider, made.provider_id)


async def a_deletion_that_broke_off_can_be_finished(cloud: CloudUnderTest) -> None:
    """Wherever the process died in the middle of it, and whether the machine was up or not."""
    for n_moments in range(_MOST_MOMENTS):
        early = await cloud.provider.create(await cloud.claim(f"early-{n_moments}", _SYSTEM))
        is_done = not await breaks_off(
            cloud, cloud.restarted().delete(early.provider_id), n_moments
        )
        late = await cloud.provider.create(await cloud.claim(f"late-{n_moments}", _SYSTEM))
        await cloud.settle()
        is_done &= not await breaks_off(
            cloud, cloud.restarted().delete(late.provider_id), n_moments
        )
        await until_gone(cloud, early.provider_id)
        await until_gone(cloud, late.provider_id)
        assert await cloud.provider.list() == (), f"after {n_moments} moments"
        if is_done:
            return
    raise AssertionError(_ENDLESS)


async def what_never_was_is_not_found(cloud: CloudUnderTest) -> None:
    """Neither an id of this cloud that nobody has, nor one of another cloud."""
    made = await cloud.provider.create(await cloud.claim("known", _SYSTEM))
    for unknown in (f"{made.provider_id}x", "elsewhere://zone/i-0", ""):
        await must_not_be_found(cloud.provider, unknown)
    assert await ids(cloud.provider) == [made.provider_id]


async def a_list_shows_what_get_shows_and_nothing_else(cloud: CloudUnderTest) -> None:
    """Starting or up, to every replica, in the order of provider ids."""
    assert await cloud.provider.list() == ()
    made = [
        await cloud.provider.create(await cloud.claim(name, _SYSTEM)) for name in ("z", "a", "m")
    ]
    for _ in range(2):
        for provider in (cloud.provider, cloud.restarted()):
            listed = await provider.list()
            assert [item.provider_id for item in listed] == sorted(
                instance.provider_id for instance in made
            )
            assert [await provider.get(instance.provider_id) for instance in listed] == [*listed]
            assert {identity(instance) for instance in listed} == {identity(item) for item in made}
        await cloud.settle()


async def instance_types_state_every_well_known_label(cloud: CloudUnderTest) -> None:
    """A label that a type does not have is said to be absent; only the pool's name is left out."""
    types = await cloud.provider.instance_types(cloud.pool)
    assert types
    assert len({instance_type.name for instance_type in types}) == len(types)
    for item in types:
        missing = labels.WELL_KNOWN - {labels.NODE_POOL} - item.requirements.keys()
        assert not missing, f"{item.name} says nothing of {sorted(missing)}"
        assert item.requirements[labels.INSTANCE_TYPE].values == {item.name}
        assert all(item.allocatable[name] <= item.capacity[name] for name in item.allocatable)
        for at in item.offerings:
            fixed = {labels.ZONE: at.zone, labels.CAPACITY_TYPE: at.capacity_type}
            assert all(at.requirements[key].values == {fixed[key]} for key in fixed), item.name
            assert all(item.requirements[key].has(fixed[key]) for key in fixed), item.name
            assert at.price_nanousd >= 0


async def instance_types_include_what_cannot_be_had(cloud: CloudUnderTest) -> None:
    """A plan must know of them: nodes of such a type may run, and it may be back soon."""
    before = {item.name for item in await cloud.provider.instance_types(cloud.pool)}
    for instance_type, at in await offered(cloud, (_SYSTEM,)):
        await cloud.sell_out(sold_out(instance_type, at))
    assert {item.name for item in await cloud.provider.instance_types(cloud.pool)} == before


async def a_launch_takes_the_cheapest_that_can_be_had(cloud: CloudUnderTest) -> None:
    """What is sold out is passed over, and told."""
    price_by_offering = {
        sold_out(instance_type, at): at.price_nanousd
        for instance_type, at in await offered(cloud, (_SYSTEM,))
    }
    sold: set[SoldOut] = set()
    for number in range(3):
        made = await cloud.provider.create(await cloud.claim(f"cheap-{number}", _SYSTEM))
        bought = taken(made)
        left = [price for out, price in price_by_offering.items() if out not in sold]
        assert price_by_offering[bought] == min(left), bought
        assert set(made.sold_out) <= sold
        sold.add(bought)
        await cloud.sell_out(bought)


async def a_launch_that_cannot_be_had_says_what_is_sold_out(cloud: CloudUnderTest) -> None:
    """So that the next plan asks for something else."""
    zone = min(at.zone for _, at in await offered(cloud, (_SYSTEM,)))
    asked = (_SYSTEM, requirement(labels.ZONE, "In", [zone]))
    there = {sold_out(instance_type, at) for instance_type, at in await offered(cloud, asked)}
    for out in sorted(there):
        await cloud.sell_out(out)
    try:
        await cloud.provider.create(await cloud.claim("sold-out", *asked))
    except InsufficientCapacityError as error:
        assert error.sold_out  # noqa: PT017  a law stands by itself, without pytest
        assert set(error.sold_out) <= there  # noqa: PT017  a law stands by itself, without pytest
    else:
        msg = "launched what is sold out"
        raise AssertionError(msg)
    assert await cloud.provider.list() == ()


async def a_launch_fails_in_one_of_five_ways(cloud: CloudUnderTest) -> None:
    """Whatever is wrong with it; and nothing is left behind."""
    impossible = await cloud.claim("impossible", requirement(labels.ARCH, "In", ["abacus"]))
    plain = await cloud.claim("classless", _SYSTEM)
    missing = NodeClassRef(plain.node_class.group, plain.node_class.kind, "no-such-class")
    classless = msgspec.structs.replace(plain, node_class=missing)
    for claim in (impossible, classless):
        try:
            await cloud.provider.create(claim)
        except CloudError as error:
            assert isinstance(error, ERRORS), error  # noqa: PT017  a law stands by itself, without pytest
            assert str(error)  # noqa: PT017  a law stands by itself, without pytest
        else:
            msg = f"launched {claim.name}"
            raise AssertionError(msg)
    assert await cloud.provider.list() == ()


async def a_fresh_instance_has_not_drifted(cloud: CloudUnderTest) -> None:
    """It is what its node class asks for: that is what it was made from."""
    made = await cloud.provider.create(await cloud.claim("fresh", _SYSTEM))
    await cloud.settle()
    node = Node(made.node_claim or "fresh", labels=made.labels, provider_id=made.provider_id)
    assert await cloud.provider.drift_reason(node) == ""


async def a_provider_says_who_it_is(cloud: CloudUnderTest) -> None:
    """Its name, its node classes (the pool's among them), and what it calls broken."""
    provider = cloud.provider
    assert provider.name == cloud.restarted().name != ""
    kinds = [(kind.group, kind.kind) for kind in provider.supported_node_classes]
    assert (cloud.pool.node_class.group, cloud.pool.node_class.kind) in kinds
    assert all(policy.tolerated_for.total_seconds() > 0 for policy in provider.repair_policies)


LAWS: Final[Sequence[Law]] = (
    a_launch_is_what_its_claim_asks_for,
    a_claim_has_one_instance_however_often_it_is_created,
    a_claim_has_one_instance_though_many_create_it_at_once,
    a_claim_has_one_instance_though_a_launch_broke_off,
    a_launched_claim_keeps_its_instance_when_all_is_sold_out,
    claims_have_instances_of_their_own,
    a_deleted_instance_ends_as_not_found,
    a_deletion_may_be_repeated,
    a_deletion_that_broke_off_can_be_finished,
    what_never_was_is_not_found,
    a_list_shows_what_get_shows_and_nothing_else,
    instance_types_state_every_well_known_label,
    instance_types_include_what_cannot_be_had,
    a_launch_takes_the_cheapest_that_can_be_had,
    a_launch_that_cannot_be_had_says_what_is_sold_out,
    a_launch_fails_in_one_of_five_ways,
    a_fresh_instance_has_not_drifted,
    a_provider_says_who_it_is,
)
