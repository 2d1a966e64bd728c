"""What the controller is killed in the middle of on AWS."""

from __future__ import annotations

from tests.ec2.kills.world import AwsWorld
from tests.kills.scenarios import Scenario, delete_the_first_claim, drain, lose_pool
from tests.kills.world import World

_LARGE = ("m5.large",)
_LONGEST_SECONDS = 600.0


async def nothing(_: World) -> None:
    """There is neither class nor pool."""


async def class_and_pool(world: World) -> None:
    """A node class that is ready, and a pool without nodes."""
    await world.node_class()
    await world.pool("first", types=_LARGE, after="10s")
    await world.pass_(5)


async def class_and_lasting_pool(world: World) -> None:
    """The same, but its nodes are not replaced by cheaper ones when spot may be had again."""
    await world.node_class()
    await world.pool("first", types=_LARGE)
    await world.pass_(5)


async def one_node(world: World) -> None:
    """Two pods on one node; a budget lets one at a time go."""
    await class_and_pool(world)
    await world.workload("web", 2, "700m")
    await world.budget("web", 1)
    await world.pass_(30)


async def two_nodes(world: World) -> None:
    """Two pods on each of two nodes; a budget lets one at a time go."""
    await class_and_pool(world)
    await world.workload("web", 4, "700m")
    await world.budget("web", 3)
    await world.pass_(30)


async def install(world: World) -> None:
    """A user makes class, pool and pods at once."""
    await world.node_class()
    await world.pool("first", types=_LARGE)
    await scale_up(world)


async def scale_up(world: World) -> None:
    """Two pods, each of which fills a node."""
    await world.workload("web", 2, "1500m")


async def sell_out(world: World) -> None:
    """A scale-up, while there is no spot capacity."""
    _aws(world).aws.control.set_capacity(0, capacity_type="spot")
    await scale_up(world)


async def drift(world: World) -> None:
    """The class makes its instances otherwise."""
    await _aws(world).amend_class(tags={"generation": "2"})


async def uninstall(world: World) -> None:
    """A user deletes pods, pool and class at once."""
    await world.dismiss("web")
    await lose_pool(world)
    await _aws(world).delete_class()


async def be_warned(world: World) -> None:
    """EC2 takes the instances back."""
    await _aws(world).warn()


async def lose_work(world: World) -> None:
    """The workload is deleted: the nodes are empty."""
    await world.dismiss("web")


async def no_leftovers(world: World) -> list[str]:
    """Nothing is left in AWS that no class or claim needs, and no message in the queue."""
    n_left = _aws(world).n_messages()
    unread = [f"{n_left} messages are left"] if n_left else []
    return [*unread, *await _aws(world).leftovers()]


async def all_replaced(world: World) -> list[str]:
    """Every instance is made as the class was amended."""
    old = [
        f"instance {place} has not been replaced"
        for place, tags in _aws(world).tags().items()
        if tags.get("generation") != "2"
    ]
    return [*old, *(await no_leftovers(world))]


def _aws(world: World) -> AwsWorld:
    assert isinstance(world, AwsWorld)
    return world


_PLAIN = tuple(
    Scenario(
        name,
        given,
        action,
        n_nodes=n_nodes,
        n_made=n_made,
        is_scale_up=action in (install, sell_out),
        longest_seconds=_LONGEST_SECONDS,
        laws=no_leftovers,
    )
    for name, given, action, n_nodes, n_made in (
        ("install", nothing, install, 2, 2),
        ("sold out", class_and_lasting_pool, sell_out, 2, 2),
        ("drain", two_nodes, drain, 2, 3),
        ("interruption", one_node, be_warned, 1, 2),
        ("scale to zero", two_nodes, lose_work, 0, 2),
        ("uninstall", one_node, uninstall, 0, 1),
    )
)
SCENARIOS = (
    *_PLAIN,
    # A controller that dies between the replacement and the deletion may launch another one.
    Scenario(
        "drift",
        one_node,
        drift,
        n_nodes=1,
        longest_seconds=_LONGEST_SECONDS,
        rests_after_seconds=60.0,
        laws=all_replaced,
    ),
    # The instance of a claim that is deleted while nobody works is launched in vain, or not at all.
    Scenario(
        "claim deleted",
        class_and_lasting_pool,
        scale_up,
        n_nodes=2,
        longest_seconds=_LONGEST_SECONDS,
        meanwhile=delete_the_first_claim,
        laws=no_leftovers,
    ),
)
