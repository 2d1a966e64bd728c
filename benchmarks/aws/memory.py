"""How much memory does the provider hold at a thousand nodes, beside the kwok provider?

Each provider is measured in a process of its own, with the same objects in its API server: a claim
and a Node for each machine. `python -m benchmarks.aws.memory aws|kwok` is such a process; that of
AWS reads what it needs to know of the account from its input.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Final

import msgspec

from benchmarks.aws.ground import account, launch
from benchmarks.results import Result
from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.clock import LoopTimer, SystemClock
from dovetail.cloud.context import ProviderContext
from dovetail.controllers.leadership.readiness import resident_bytes, tidy
from dovetail.kube.seam import Json, Kube, Patch, Ref
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.model.requirements import requirement
from dovetail.providers.aws.node_class.definition import KIND as EC2_NODE_CLASS
from dovetail.providers.kwok.node_class import KIND as KWOK_NODE_CLASS
from dovetail.state.objects import claim_object
from tests.ec2.control import REGION
from tests.ec2.provider.cloud import SETTINGS, KnownCatalogue, claim_body, node_class_body, ready
from tests.ec2.setting import ZONES

N_NODES: Final = 1000
N_CLASSES: Final = 10
MORE_MB: Final = "more than kwok, MB"
_LIMIT_MB: Final = 60.0
_NODE: Final = api.KINDS["", "Node"]
_CLAIM: Final = api.KINDS[labels.GROUP, "NodeClaim"]
_LINUX: Final = (
    requirement(labels.OS, "In", ["linux"]),
    requirement(labels.ARCH, "In", ["amd64"]),
)


class AccountFacts(msgspec.Struct, frozen=True):
    """What a process must know of the account."""

    url: str
    n_nodes: int
    subnets: dict[str, str]
    image: str


def measure_memory(n_nodes: int = N_NODES) -> Result:
    """Resident memory of both, in megabytes (10^6 bytes)."""
    kwok = _held("kwok", msgspec.json.encode(n_nodes))
    with account() as aws:
        launch(aws, n_nodes)
        facts = AccountFacts(aws.control.url, n_nodes, aws.subnets(), aws.image())
        own = _held("aws", msgspec.json.encode(facts))
    figures = {
        "nodes": n_nodes,
        "node classes": N_CLASSES,
        "MB with aws": own,
        "MB with kwok": kwok,
        MORE_MB: own - kwok,
    }
    return Result(f"memory-{n_nodes}", figures, {MORE_MB: _LIMIT_MB})


def _held(provider: str, facts: bytes) -> float:
    command = [sys.executable, "-m", "benchmarks.aws.memory", provider]
    done = subprocess.run(command, input=facts, stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


async def _with_aws(facts: AccountFacts) -> float:
    from dovetail.providers.aws.apis import connect
    from dovetail.providers.aws.catalogue.offline import offline_inputs
    from dovetail.providers.aws.provider import AwsProvider

    context = _context()
    families = frozenset(one.family for one in offline_inputs(ZONES).machines)
    async with connect(region=REGION, pricing_region="us-east-1", endpoint_url=facts.url) as apis:
        source = KnownCatalogue(
            apis, SETTINGS, clock=context.clock, timer=context.timer, families=families
        )
        provider = AwsProvider(context, apis, SETTINGS, source=source)
        await _create_objects(context.kube, facts.n_nodes)
        for ordinal, name in enumerate(_class_names()):
            await _create_class(context.kube, name, facts, max_pods=50 + ordinal)
        types = [await provider.instance_types(_pool(name)) for name in _class_names()]
        instances = await provider.list()
        if len(instances) != facts.n_nodes or not all(types):
            msg = f"{len(instances)} of {facts.n_nodes} instances are listed"
            raise RuntimeError(msg)
        return _resident_mb()


def _class_names() -> list[str]:
    return ["default", *(f"class-{number}" for number in range(1, N_CLASSES))]


def _pool(node_class: str) -> NodePool:
    return NodePool(
        node_class, node_class=NodeClassRef(labels.AWS_GROUP, EC2_NODE_CLASS.name, node_class)
    )


async def _create_class(kube: Kube, name: str, facts: AccountFacts, *, max_pods: int) -> None:
    """A class that is ready, with settings of its own."""
    body = node_class_body(kubelet={"maxPods": max_pods})
    await kube.create(EC2_NODE_CLASS, {**body, "metadata": {"name": name}})
    status: dict[str, Json] = {
        "subnets": [{"id": id_, "zone": zone} for zone, id_ in facts.subnets.items()],
        "amis": [{"id": facts.image, "name": "al2023", "requirements": []}],
        "instanceProfile": "nodes",
        "conditions": [ready("True")],
    }
    await kube.patch(Ref(EC2_NODE_CLASS, name), Patch({"status": status}, subresource="status"))


async def _create_objects(kube: Kube, n_nodes: int) -> None:
    """A claim and a Node for each instance."""
    for number in range(n_nodes):
        await kube.create(_CLAIM, claim_body(f"claim-{number}", _LINUX, {"cpu": 500}, {}))
        node: dict[str, Json] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"node-{number}",
                "labels": {f"example.com/label-{place}": "value" for place in range(15)},
            },
        }
        await kube.create(_NODE, node)


async def _with_kwok(n_nodes: int) -> float:
    from dovetail.providers.kwok import plugin
    from dovetail.providers.kwok.plugin import KwokSettings

    context = _context()
    provider = plugin.make(context, KwokSettings())
    node_class: dict[str, Json] = {
        "apiVersion": KWOK_NODE_CLASS.api_version,
        "kind": KWOK_NODE_CLASS.name,
        "metadata": {"name": "default"},
    }
    await context.kube.create(KWOK_NODE_CLASS, node_class)
    reference: Json = {
        "group": KWOK_NODE_CLASS.group,
        "kind": KWOK_NODE_CLASS.name,
        "name": "default",
    }
    for number in range(n_nodes):
        body = claim_body(f"claim-{number}", _LINUX, {"cpu": 500}, {})
        spec = body["spec"]
        if isinstance(spec, dict):
            spec["nodeClassRef"] = reference
        raw = await context.kube.create(_CLAIM, body)
        await provider.create(claim_object(api.decode(api.NodeClaim, raw)))
    instances = await provider.list()
    if len(instances) != n_nodes:
        msg = f"{len(instances)} of {n_nodes} machines are listed"
        raise RuntimeError(msg)
    return _resident_mb()


def _context() -> ProviderContext[Kube]:
    clock = SystemClock()
    return ProviderContext(MemoryKube(clock), clock, LoopTimer())


def _resident_mb() -> float:
    tidy()
    return resident_bytes() / 1e6


def main() -> int:
    """Measure one provider."""
    facts = sys.stdin.buffer.read()
    if sys.argv[1] == "kwok":
        held = asyncio.run(_with_kwok(msgspec.json.decode(facts, type=int)))
    else:
        held = asyncio.run(_with_aws(msgspec.json.decode(facts, type=AccountFacts)))
    sys.stdout.write(f"{held}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
