"""May this pod run on this node, looking at nothing but the two? kube-scheduler's plain filters.

Each filter answers with the reason for "no", or None. They are written to be read, not to be fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dovetail.model.pod import DaemonSet, Pod, PodSpec
from dovetail.model.requirements import Requirement
from dovetail.model.taints import Taint, Toleration
from dovetail.model.topology import HostPort, NodeTerm
from dovetail.model.volumes import StorageClass, VolumeClaim
from tests.oracle.world import Host, World

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
ANY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104  the wildcard as Kubernetes spells it


# ------------------------------------------------------------------ NodeResourcesFit


def resources(_world: World, pod: Pod, host: Host, bound: Iterable[Pod]) -> str | None:
    """Everything asked for must be left over by the pods and daemon sets of the node."""
    for name, amount in pod.spec.requests.items():
        if amount <= 0:
            continue
        taken = sum(other.spec.requests.get(name, 0) for other in bound)
        taken += sum(daemon.spec.requests.get(name, 0) for daemon in host.daemons)
        free = host.allocatable.get(name, 0) - taken
        if amount > free:
            return f"{name}: wants {amount}, {free} free"
    return None


# ------------------------------------------------------------------ TaintToleration


def _number(text: str) -> int | None:
    try:
        number = int(text)
    except ValueError:
        return None
    return number if text.strip() == text and "_" not in text else None


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.key == "":
        return toleration.operator == "Exists"
    if toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    if toleration.operator in ("Equal", ""):
        return toleration.value == taint.value
    left, right = _number(taint.value), _number(toleration.value)
    if left is None or right is None:
        return False
    return left > right if toleration.operator == "Gt" else left < right


def untolerated(spec: PodSpec, taints: Iterable[Taint]) -> Taint | None:
    """The first hard taint that nothing in the pod covers."""
    for taint in taints:
        if taint.effect == "PreferNoSchedule":
            continue
        if not any(_covers(toleration, taint) for toleration in spec.tolerations):
            return taint
    return None


def taints(_world: World, pod: Pod, host: Host, _bound: Iterable[Pod]) -> str | None:
    """NoSchedule and NoExecute keep away whoever does not tolerate them."""
    taint = untolerated(pod.spec, host.taints)
    return None if taint is None else f"taint {taint}"


def unschedulable(_world: World, pod: Pod, host: Host, _bound: Iterable[Pod]) -> str | None:
    """A cordoned node takes only pods that tolerate the cordon."""
    if host.is_unschedulable and untolerated(pod.spec, [UNSCHEDULABLE]):
        return "cordoned"
    return None


# ------------------------------------------------------------------ NodeAffinity


def _holds(expressions: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    return all(one.admits(labels.get(one.key)) for one in expressions)


def term_holds(term: NodeTerm, labels: Mapping[str, str], name: str) -> bool:
    """Whether a term with something in it selects the node; an empty one selects none."""
    if not term.expressions and not term.fields:
        return False
    return _holds(term.expressions, labels) and all(one.admits(name) for one in term.fields)


def wants(spec: PodSpec, labels: Mapping[str, str], name: str) -> bool:
    """Whether node selector and required node affinity accept a node of these labels."""
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    if not spec.required_terms:
        return True
    return any(term_holds(term, labels, name) for term in spec.required_terms)


def node_affinity(_world: World, pod: Pod, host: Host, _bound: Iterable[Pod]) -> str | None:
    """Selector and at least one required term must accept the node."""
    return None if wants(pod.spec, host.labels, host.name) else "node affinity"


# ------------------------------------------------------------------ NodePorts


def clash(a: HostPort, b: HostPort) -> bool:
    """Whether two pods with these ports cannot share a node."""
    if a.port != b.port or a.protocol != b.protocol:
        return False
    return a.ip == b.ip or a.ip in ANY_ADDRESS or b.ip in ANY_ADDRESS


def ports(_world: World, pod: Pod, host: Host, bound: Iterable[Pod]) -> str | None:
    """No port may be taken twice on one address."""
    taken = [port for other in bound for port in other.spec.host_ports]
    taken += [port for daemon in host.daemons for port in daemon.spec.host_ports]
    for port in pod.spec.host_ports:
        if any(clash(port, other) for other in taken):
            return f"port {port.port}"
    return None


# ------------------------------------------------------------------ VolumeBinding, NodeVolumeLimits


def storage_class_of(world: World, claim: VolumeClaim) -> StorageClass | None:
    """The class that a claim names, or the default for an unbound one that names none."""
    classes = world.snapshot.storage_classes
    if claim.storage_class is not None:
        return classes.get(claim.storage_class)
    defaults = [classes[name] for name in sorted(classes) if classes[name].is_default]
    return defaults[0] if defaults and not claim.volume_name else None


def volume_terms(world: World, pod: Pod) -> list[tuple[NodeTerm, ...]] | None:
    """For each claim the alternatives of where its volume can be; None if a claim is unusable."""
    found: list[tuple[NodeTerm, ...]] = []
    for name in pod.claim_names:
        claim = world.snapshot.volume_claims.get(f"{pod.namespace}/{name}")
        if claim is None or claim.is_lost or claim.is_deleting:
            return None
        if claim.volume_name:
            volume = world.snapshot.volumes.get(claim.volume_name)
            if volume is None or volume.is_deleting or not claim.is_bind_completed:
                return None
            found.append(volume.terms)
            continue
        storage_class = storage_class_of(world, claim)
        if storage_class is None or storage_class.is_immediate:
            return None
        found.append(storage_class.terms)
    return found


def volume_zone(world: World, pod: Pod, host: Host, _bound: Iterable[Pod]) -> str | None:
    """Every volume must be reachable from the node, in one of the ways it allows."""
    wanted = volume_terms(world, pod)
    if wanted is None:
        return "unusable claim"
    for terms in wanted:
        if terms and not any(_holds(term.expressions, host.labels) for term in terms):
            return "volume topology"
    return None


def attachments(world: World, pod: Pod) -> set[tuple[str, str]]:
    """(driver, claim) of every volume of the pod whose driver is known."""
    found = set()
    for name in pod.claim_names:
        key = f"{pod.namespace}/{name}"
        claim = world.snapshot.volume_claims.get(key)
        if claim is None:
            continue
        volume = world.snapshot.volumes.get(claim.volume_name)
        storage_class = storage_class_of(world, claim)
        driver = volume.driver if volume else ""
        driver = driver or (storage_class.driver if storage_class else "")
        if driver:
            found.add((driver, key))
    return found


def volume_limits(world: World, pod: Pod, host: Host, bound: Iterable[Pod]) -> str | None:
    """A node attaches only so many volumes of a driver; a claim that two pods share counts once."""
    new = attachments(world, pod)
    if not new:
        return None
    attached = new.union(*(attachments(world, other) for other in bound))
    for driver in {driver for driver, _ in new}:
        limit = host.attach_limits.get(driver)
        if limit is not None and sum(one == driver for one, _ in attached) > limit:
            return f"more than {limit} volumes of {driver}"
    return None


# ------------------------------------------------------------------ daemon sets


def daemon_belongs(
    daemon: DaemonSet, labels: Mapping[str, str], node_taints: Iterable[Taint], name: str
) -> bool:
    """Whether the daemon set will run a pod on such a node."""
    return untolerated(daemon.spec, node_taints) is None and wants(daemon.spec, labels, name)
