"""Where does a scenario's cluster come from? Shorthand directly, manifests through the border."""

from __future__ import annotations

import msgspec

from dovetail import api
from dovetail.kube.manifests import from_trees
from dovetail.model.instance import InstanceType
from dovetail.model.snapshot import Snapshot
from dovetail.providers.choose import by_name
from dovetail.state import freeze
from dovetail.testing.given import Given


def snapshot_of(given: Given, name: str) -> Snapshot:
    """The cluster that a scenario starts from. Raises InputError; `name` is for its messages."""
    types = by_name(given.catalog) if given.catalog else given.own_types()
    written = given.snapshot(types)
    if not given.manifests:
        return written
    return _together(written, _read(given, types, name))


def _read(given: Given, types: tuple[InstanceType, ...], name: str) -> Snapshot:
    # YAML makes instants of what Kubernetes writes as text; here they become text again.
    trees: list[api.Tree] = msgspec.to_builtins(given.manifests)
    manifests = from_trees(trees, name)
    return freeze.snapshot(manifests.objects, instance_types=lambda _pool: types)


def _together(written: Snapshot, read: Snapshot) -> Snapshot:
    """Both clusters as one; policy and ledger are the shorthand's, which alone can state them."""
    return msgspec.structs.replace(
        written,
        pods=tuple(sorted((*written.pods, *read.pods), key=lambda pod: pod.key)),
        nodes=tuple(sorted((*written.nodes, *read.nodes), key=lambda node: node.name)),
        node_pools=tuple(
            sorted((*written.node_pools, *read.node_pools), key=lambda pool: pool.name)
        ),
        instance_types={**written.instance_types, **read.instance_types},
        daemon_sets=(*written.daemon_sets, *read.daemon_sets),
        volume_claims={**written.volume_claims, **read.volume_claims},
        volumes={**written.volumes, **read.volumes},
        storage_classes={**written.storage_classes, **read.storage_classes},
        namespaces={**read.namespaces, **written.namespaces},
        services=(*written.services, *read.services),
        owner_selectors={**written.owner_selectors, **read.owner_selectors},
        disruption_budgets=(*written.disruption_budgets, *read.disruption_budgets),
    )
