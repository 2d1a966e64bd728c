"""What goes along with its owner."""

from __future__ import annotations

from typing import Any

from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Deletion, Kube, Propagation, Ref
from tests.conformance.kube.objects import (
    CONFIG_MAP,
    NAMESPACE,
    NODE,
    NODE_CLAIM,
    config_map,
    create,
    got,
    make,
    merge,
    named,
    node,
    node_claim,
    owner,
)
from tests.conformance.kube.servers import Names, Server, eventually


async def is_there(kube: Kube, ref: Ref) -> bool:
    """Whether there is such an object."""
    try:
        await kube.get(ref)
    except NotFoundError:
        return False
    return True


async def gone(server: Server, kube: Kube, *refs: Ref) -> None:
    """Wait until objects are gone."""

    async def holds() -> bool:
        return not any([await is_there(kube, ref) for ref in refs])

    await eventually(server, holds)


async def family(kube: Kube, names: Names, **reference: Any) -> tuple[Ref, Ref]:
    """A claim, and the node that belongs to it."""
    claim = await make(kube, NODE_CLAIM, node_claim(names.fresh()))
    reference = {**owner(await kube.get(claim)), **reference}
    child = await make(kube, NODE, named(names.fresh(), ownerReferences=[reference]))
    return claim, child


async def test_dependents_go_after_their_owner(server: Server, names: Names) -> None:
    """In the background, by default."""
    async with server.open() as kube:
        claim, child = await family(kube, names)
        await kube.delete(claim, Deletion())
        assert not await is_there(kube, claim)
        await gone(server, kube, child)


async def test_dependents_of_dependents_go_too(server: Server, names: Names) -> None:
    """To the last of them."""
    async with server.open() as kube:
        claim, child = await family(kube, names)
        reference = owner(await kube.get(child))
        grandchild = await make(kube, CONFIG_MAP, named(names.fresh(), ownerReferences=[reference]))
        await kube.delete(claim, Deletion())
        await gone(server, kube, child, grandchild)


async def test_an_owner_of_another_uid_is_no_owner(server: Server, names: Names) -> None:
    """A new object of the same name does not keep the old one's dependents."""
    async with server.open() as kube:
        _, child = await family(kube, names, uid="3e1e7a10-0000-4000-8000-000000000000")
        await gone(server, kube, child)


async def test_one_owner_is_enough_to_stay(server: Server, names: Names) -> None:
    """The references to those that have gone are dropped."""
    async with server.open() as kube:
        claim, child = await family(kube, names)
        other = await make(kube, NODE_CLAIM, node_claim(names.fresh()))
        both = [
            owner(await kube.get(claim)),
            {**owner(await kube.get(other)), "controller": False},
        ]
        await merge(kube, child, {"metadata": {"ownerReferences": both}})
        await kube.delete(claim, Deletion())

        async def holds() -> bool:
            references = (await got(kube, child))["metadata"]["ownerReferences"]
            return [one["name"] for one in references] == [other.name]

        await eventually(server, holds)


async def test_in_the_foreground_the_owner_waits_for_dependents_that_block(
    server: Server, names: Names
) -> None:
    """It stays until the last of them has gone."""
    async with server.open() as kube:
        claim, child = await family(kube, names, blockOwnerDeletion=True)
        await merge(kube, child, {"metadata": {"finalizers": ["example.com/hold"]}})
        await kube.delete(claim, Deletion(propagation=Propagation.FOREGROUND))
        assert (await got(kube, claim))["metadata"]["finalizers"] == ["foregroundDeletion"]

        async def is_marked() -> bool:
            return "deletionTimestamp" in (await got(kube, child))["metadata"]

        await eventually(server, is_marked)
        assert await is_there(kube, claim)
        await merge(kube, child, {"metadata": {"finalizers": None}})
        await gone(server, kube, claim, child)


async def test_in_the_foreground_other_dependents_are_not_waited_for(
    server: Server, names: Names
) -> None:
    """They go afterwards."""
    async with server.open() as kube:
        claim, child = await family(kube, names)
        await kube.delete(claim, Deletion(propagation=Propagation.FOREGROUND))
        await gone(server, kube, claim, child)


async def test_orphans_stay_and_forget_their_owner(server: Server, names: Names) -> None:
    """The owner goes when they have forgotten it."""
    async with server.open() as kube:
        claim, child = await family(kube, names)
        await kube.delete(claim, Deletion(propagation=Propagation.ORPHAN))
        assert (await got(kube, claim))["metadata"]["finalizers"] == ["orphan"]
        await gone(server, kube, claim)
        assert "ownerReferences" not in (await got(kube, child))["metadata"]


async def test_what_has_no_owner_stays(server: Server, names: Names) -> None:
    """Nothing is garbage by itself."""
    async with server.open() as kube:
        ref = await make(kube, NODE, node(names.fresh()))
        await server.settle()
        assert await is_there(kube, ref)


async def test_a_namespace_takes_along_what_it_holds(server: Server, names: Names) -> None:
    """It is going until it is empty."""
    async with server.open() as kube:
        home = await make(kube, NAMESPACE, named(names.fresh()))
        await create(kube, CONFIG_MAP, config_map("thing"), home.name)
        await kube.delete(home, Deletion())
        await gone(server, kube, home, Ref(CONFIG_MAP, "thing", home.name))
