"""A cloud may deliver less than was planned: pods that no longer fit are planned for again."""

from __future__ import annotations

from dovetail.controllers.cache import NODE_CLAIM
from dovetail.kube.seam import Json, Patch, Ref
from tests.unit.controllers.provisioning.test_loop import deciding, waiting
from tests.unit.controllers.worlds import World


async def test_pods_that_do_not_fit_the_delivered_instance_get_another_node() -> None:
    """What counts is what the claim says of the instance, not what was planned."""
    world = World()
    async with deciding(world) as found:
        for name in ("a", "b"):
            await waiting(world, name, cpu="700m")
        await world.pass_(2)
        (launched,) = await world.names(NODE_CLAIM)
        (launch,) = [one for plan in found.plans for one in plan.launches]
        assert launch.instance_type == "c-2x-amd64-linux"
        room: Json = {"cpu": "1", "memory": "4Gi", "pods": "110"}
        status: Json = {
            "providerID": f"kwok://{launched}",
            "capacity": room,
            "allocatable": room,
            "conditions": [
                {
                    "type": "Launched",
                    "status": "True",
                    "reason": "Launched",
                    "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
        }
        patch = Patch({"status": status}, subresource="status")
        await world.api.patch(Ref(NODE_CLAIM, launched), patch)
        await world.pass_(5)
        others = [name for name in await world.names(NODE_CLAIM) if name != launched]
        assert len(others) == 1
        (second,) = [one for plan in found.plans for one in plan.launches if one.name == others[0]]
        assert len(second.pods) == 1
        await world.pass_(60)
        assert len(await world.names(NODE_CLAIM)) == 2
