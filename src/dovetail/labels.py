"""Names every label, annotation and taint key that means something to Dovetail, once."""

from __future__ import annotations

from typing import Final

GROUP: Final = "karpenter.sh"
NODE_POOL: Final = "karpenter.sh/nodepool"
INITIALIZED: Final = "karpenter.sh/initialized"
REGISTERED: Final = "karpenter.sh/registered"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
DO_NOT_SYNC_TAINTS: Final = "karpenter.sh/do-not-sync-taints"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
NODE_POOL_HASH: Final = "karpenter.sh/nodepool-hash"
NODE_POOL_HASH_VERSION: Final = "karpenter.sh/nodepool-hash-version"
MIN_VALUES_RELAXED: Final = "karpenter.sh/nodeclaim-min-values-relaxed"
REPLACES: Final = "dovetail.sh/replaces"  # on a claim: which nodes go once it has started
LEAST_SAVING: Final = "dovetail.sh/least-saving-per-eviction"  # of a NodePool, dollars an hour
MOST_EVICTIONS: Final = "dovetail.sh/most-evictions-per-day"  # of a NodePool or a pod
EVICTION_COST: Final = "dovetail.sh/eviction-cost"  # of a NodePool, a duration
NODE_PRICE: Final = "dovetail.sh/node-price"  # of a NodePool, dollars an hour for each node
DISCOURAGED: Final = "dovetail.sh/discouraged"  # a taint: pods should rather go elsewhere
POOL_KNOBS: Final = (LEAST_SAVING, MOST_EVICTIONS, EVICTION_COST, NODE_PRICE)
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
YIELDS: Final = "dovetail.sh/yields"  # of a pod: the deletion cost that is our word
MADE_BY_RUN: Final = "dovetail.sh/made-by-run"  # which run of the program made a claim
TERMINATION_TIMESTAMP: Final = "karpenter.sh/nodeclaim-termination-timestamp"
REQUESTED_DRA_DRIVERS: Final = "karpenter.sh/requested-dra-drivers"
TERMINATION_FINALIZER: Final = "karpenter.sh/termination"
PRICE_OVERLAY_APPLIED: Final = "karpenter.sh/price-overlay-applied"
CAPACITY_OVERLAY_APPLIED: Final = "karpenter.sh/capacity-overlay-applied"
DISRUPTED_TAINT: Final = "karpenter.sh/disrupted"
UNREGISTERED_TAINT: Final = "karpenter.sh/unregistered"
BUFFER_FAKE_POD: Final = "karpenter.sh/capacity-buffer-fake-pod"
BUFFER_NAME: Final = "karpenter.sh/capacity-buffer-name"
BUFFER_NAMESPACE: Final = "karpenter.sh/capacity-buffer-namespace"

HOSTNAME: Final = "kubernetes.io/hostname"
ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
WINDOWS_BUILD: Final = "node.kubernetes.io/windows-build"
EXCLUDE_FROM_LOAD_BALANCERS: Final = "node.kubernetes.io/exclude-from-external-load-balancers"
POD_TEMPLATE_HASH: Final = "pod-template-hash"
CONTROLLER_REVISION_HASH: Final = "controller-revision-hash"
# Not a label: how `matchFields` names a node. Kept apart from labels by its spelling.
NODE_NAME_FIELD: Final = "metadata.name"

SPOT: Final = "spot"
ON_DEMAND: Final = "on-demand"
RESERVED: Final = "reserved"
CAPACITY_TYPES: Final = (RESERVED, SPOT, ON_DEMAND)

KWOK_GROUP: Final = "karpenter.kwok.sh"
AWS_GROUP: Final = "karpenter.k8s.aws"
RESERVATION_ID: Final = "karpenter.k8s.aws/capacity-reservation-id"

WELL_KNOWN: Final = frozenset(
    {
        NODE_POOL,
        ZONE,
        REGION,
        INSTANCE_TYPE,
        ARCH,
        OS,
        CAPACITY_TYPE,
        WINDOWS_BUILD,
    }
)
# Label domains of providers begin so: a node may have any label of them that its type declares.
# Decisions tell them by their name, so that they can be made again where the provider is unknown.
_PROVIDER: Final = "karpenter."
# Labels that exist only inside a simulation, for daemon sets that select on them.
SIMULATION_ONLY: Final = frozenset({REGISTERED, INITIALIZED})

_NORMALIZED: Final = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "topology.ebs.csi.aws.com/zone": ZONE,
}


def normalize(key: str) -> str:
    """The current spelling of a label key that once had another."""
    return _NORMALIZED.get(key, key)


def domain(key: str) -> str:
    """What stands before the slash, or nothing."""
    prefix, slash, _ = key.partition("/")
    return prefix if slash else ""


def is_of_provider(key: str) -> bool:
    """Whether the label belongs to a provider, such as karpenter.k8s.aws/instance-cpu."""
    owner = domain(key)
    return owner.startswith(_PROVIDER) and owner != GROUP


def is_well_known(key: str) -> bool:
    """Whether a node launched by a provider may carry this label without its pool saying so."""
    return key in WELL_KNOWN or is_of_provider(key)


def is_restricted(key: str) -> bool:
    """Whether users may not set this label: ours by domain, or the host name."""
    if is_well_known(key):
        return False
    if key == HOSTNAME:
        return True
    owner = domain(key)
    # Below the domain of a provider, as below our own, nobody has a domain.
    return owner == GROUP or f".{_PROVIDER}" in owner
