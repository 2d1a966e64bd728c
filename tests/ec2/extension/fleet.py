"""CreateFleet of type `instant`, and RunInstances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.ec2.extension import moto_state, templates
from tests.ec2.extension.catalogue import ON_DEMAND, SPOT, is_sold
from tests.ec2.extension.instances import Instance, describe
from tests.ec2.extension.launch import Order, check, check_capacity, find_subnet, launch
from tests.ec2.extension.wire import AwsError, Tree
from tests.ec2.extension.world import World, tags_for

# What would change the choice of a fleet, and is not built: better an error than a wrong choice.
_NOT_BUILT = (
    "InstanceRequirements",
    "MaxTotalPrice",
    "SingleAvailabilityZone",
    "SingleInstanceType",
    "WeightedCapacity",
)
_OVERRIDABLE = (
    "InstanceType",
    "SubnetId",
    "ImageId",
    "Placement",
    "KeyName",
    "BlockDeviceMappings",
    "IamInstanceProfile",
    "MetadataOptions",
)
_DRY_RUN = AwsError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)


@dataclass
class Candidate:
    """One override of a fleet request."""

    template: Tree  # as in the answer: LaunchTemplateSpecification
    override: Tree
    capacity_type: str
    order: Order | None
    refusal: AwsError | None = None
    instances: list[Instance] = field(default_factory=list)

    @property
    def priority(self) -> float:
        """A lower number goes first; without one, last."""
        return float(self.override.get("Priority", "inf"))


def create_fleet(world: World, parameters: Tree) -> Tree:
    """CreateFleet: the same client token gets the same answer, and no second fleet."""
    _refuse_what_is_not_built(parameters)
    if parameters.get("DryRun"):
        raise _DRY_RUN
    return world.once("CreateFleet", parameters, lambda: _carry_out(world, parameters))


def _refuse_what_is_not_built(parameters: Tree) -> None:
    if parameters.get("Type") != "instant":
        msg = "Only fleets of type instant are built into the EC2 for tests"
        raise AwsError("UnsupportedOperation", msg)
    used = {*parameters.get("OnDemandOptions", {}), *parameters.get("SpotOptions", {})}
    for config in parameters["LaunchTemplateConfigs"]:
        used.update(*config.get("Overrides", []))
    for name in _NOT_BUILT:
        if name in used:
            msg = f"{name} is not built into the EC2 for tests"
            raise AwsError("UnsupportedOperation", msg)


def _carry_out(world: World, parameters: Tree) -> Tree:
    attempted: list[Candidate] = []
    for capacity_type, n_wanted in _targets(parameters["TargetCapacitySpecification"]):
        attempted += _fill(world, parameters, capacity_type, n_wanted)
    return {
        "FleetId": world.new_id("fleet"),
        "Instances": [_launched(one) for one in attempted if one.instances],
        "Errors": [_refused(one, one.refusal) for one in attempted if one.refusal],
    }


def _targets(target: Tree) -> list[tuple[str, int]]:
    """How many instances of which capacity type; reserved capacity is bought on demand."""
    total = target["TotalTargetCapacity"]
    usual = SPOT if target.get("DefaultTargetCapacityType") == SPOT else ON_DEMAND
    counts = {
        ON_DEMAND: target.get("OnDemandTargetCapacity", 0),
        SPOT: target.get("SpotTargetCapacity", 0),
    }
    counts[usual] = max(counts[usual], total - counts[ON_DEMAND if usual == SPOT else SPOT])
    return [(capacity_type, count) for capacity_type, count in counts.items() if count]


def _fill(world: World, parameters: Tree, capacity_type: str, n_wanted: int) -> list[Candidate]:
    """Launch from one candidate after the other until there is enough; those that were tried."""
    options = parameters.get("SpotOptions" if capacity_type == SPOT else "OnDemandOptions", {})
    candidates = _candidates(world, parameters, capacity_type)
    ranked = _rank(world, candidates, options.get("AllocationStrategy"), n_wanted)
    n_least: int = options.get("MinTargetCapacity", 0)
    attempted: list[Candidate] = []
    token = parameters.get("ClientToken", "")
    for candidate in ranked:
        n_missing = n_wanted - sum(len(one.instances) for one in attempted)
        if n_missing <= 0:
            break
        _launch_from(world, candidate, n_missing, token)
        attempted.append(candidate)
    if sum(len(one.instances) for one in attempted) < n_least:
        _take_back(world, attempted)
    return attempted


def _take_back(world: World, attempted: list[Candidate]) -> None:
    """A fleet that stays below its least capacity launches nothing."""
    for candidate in attempted:
        for instance in candidate.instances:
            world.forget(instance)
        candidate.instances.clear()


def _launch_from(world: World, candidate: Candidate, n_missing: int, token: str) -> None:
    order = candidate.order
    if order is None:
        return
    fault = next(
        (f for f in world.pool_faults if f.strikes(order.pool, order.subnet.subnet_id)), None
    )
    if fault:
        candidate.refusal = AwsError(fault.code, fault.message)
        return
    batch = world.new_id("r")
    try:
        check(world, order)
        for _ in range(n_missing):
            candidate.instances.append(launch(world, order, batch, token))
    except AwsError as error:
        candidate.refusal = error


def _candidates(world: World, parameters: Tree, capacity_type: str) -> list[Candidate]:
    return [
        _candidate(
            world, parameters, config["LaunchTemplateSpecification"], override, capacity_type
        )
        for config in parameters["LaunchTemplateConfigs"]
        for override in config.get("Overrides") or [{}]
    ]


def _candidate(
    world: World, parameters: Tree, reference: Tree, override: Tree, capacity_type: str
) -> Candidate:
    try:
        template = templates.by_reference(world, reference)
        settings = dict(templates.data(template, reference.get("Version", "")))
        settings |= {key: override[key] for key in _OVERRIDABLE if key in override}
        order = _order(parameters, settings, override, capacity_type)
    except AwsError as error:
        return Candidate(reference, override, capacity_type, None, error)
    # EC2 answers with the id and the number of the version, whatever the request named.
    version = reference.get("Version", "")
    number = str(len(template.versions)) if version == "$Latest" else version or "1"
    answered = {"LaunchTemplateId": template.template_id, "Version": number}
    return Candidate(answered, override, capacity_type, order)


def _order(parameters: Tree, settings: Tree, override: Tree, capacity_type: str) -> Order:
    zone = override.get("AvailabilityZone") or settings.get("Placement", {}).get(
        "AvailabilityZone", ""
    )
    ceiling = override.get("MaxPrice")
    return Order(
        settings=settings,
        instance_type=settings.get("InstanceType", ""),
        capacity_type=capacity_type,
        subnet=find_subnet(settings, zone),
        tags={**tags_for(settings, "instance"), **tags_for(parameters, "instance")},
        volume_tags={**tags_for(settings, "volume"), **tags_for(parameters, "volume")},
        max_price_nanousd=round(float(ceiling) * 10**9) if ceiling else None,
    )


def _rank(
    world: World, candidates: list[Candidate], strategy: str | None, n_wanted: int
) -> list[Candidate]:
    """The order in which pools are tried; equals stay in the order of the request.

    EC2 does not tell how it weighs capacity against price. Here a pool is deep if it has as many
    instances left as are wanted; deep pools go first where the strategy looks at capacity.
    """

    def price(one: Candidate) -> float:
        return world.market.price(one.order.pool) if one.order and _is_priced(one) else 0

    def is_shallow(one: Candidate) -> bool:
        free = world.market.free(one.order.pool) if one.order else 0
        return free is not None and free < n_wanted

    keys: dict[str, Callable[[Candidate], tuple[float, ...]]] = {
        "lowest-price": lambda one: (price(one),),
        "prioritized": lambda one: (one.priority,),
        "price-capacity-optimized": lambda one: (is_shallow(one), price(one)),
        "capacity-optimized": lambda one: (is_shallow(one),),
        "capacity-optimized-prioritized": lambda one: (is_shallow(one), one.priority),
    }
    return sorted(candidates, key=keys[strategy or "lowest-price"])


def _is_priced(candidate: Candidate) -> bool:
    return candidate.order is not None and is_sold(candidate.order.pool)


def _identified(candidate: Candidate) -> Tree:
    return {
        "LaunchTemplateSpecification": candidate.template,
        "Overrides": candidate.override,
    }


def _launched(candidate: Candidate) -> Tree:
    return {
        "LaunchTemplateAndOverrides": _identified(candidate),
        "Lifecycle": candidate.capacity_type,
        "InstanceIds": [instance.instance_id for instance in candidate.instances],
        "InstanceType": candidate.instances[0].pool[0],
    }


def _refused(candidate: Candidate, refusal: AwsError) -> Tree:
    return {
        "LaunchTemplateAndOverrides": _identified(candidate),
        "Lifecycle": candidate.capacity_type,
        "ErrorCode": refusal.code,
        "ErrorMessage": refusal.message,
    }


# ---------------------------------------------------------------- RunInstances


def run_instances(world: World, parameters: Tree) -> Tree:
    """RunInstances: all or nothing; the same client token gets the same instances."""
    if parameters.get("DryRun"):
        _order_of_call(world, parameters)
        raise _DRY_RUN
    return world.once("RunInstances", parameters, lambda: _run(world, parameters))


_OF_THE_CALL = frozenset({"ClientToken", "DryRun", "LaunchTemplate", "MaxCount", "MinCount"})


def _order_of_call(world: World, parameters: Tree) -> Order:
    settings = {key: value for key, value in parameters.items() if key not in _OF_THE_CALL}
    reference = parameters.get("LaunchTemplate")
    if reference:
        template = templates.by_reference(world, reference)
        settings = {**templates.data(template, reference.get("Version", "")), **settings}
    is_spot = settings.get("InstanceMarketOptions", {}).get("MarketType") == "spot"
    order = _order(parameters, settings, {}, SPOT if is_spot else ON_DEMAND)
    check(world, order)
    return order


def _run(world: World, parameters: Tree) -> Tree:
    order = _order_of_call(world, parameters)
    left = world.market.free(order.pool)
    if left is not None and left < parameters["MinCount"]:
        msg = f"We currently do not have sufficient {order.instance_type} capacity."
        raise AwsError("InsufficientInstanceCapacity", msg, 500)
    check_capacity(world, order)
    n_wanted = parameters["MaxCount"] if left is None else min(left, parameters["MaxCount"])
    batch, token = world.new_id("r"), parameters.get("ClientToken", "")
    launched = [launch(world, order, batch, token) for _ in range(n_wanted)]
    now = world.clock.now()
    return {
        "ReservationId": batch,
        "OwnerId": moto_state.ACCOUNT,
        "Groups": [],
        "Instances": [describe(one, one.state(now, world.delays)) for one in launched],
    }
