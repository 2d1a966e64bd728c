"""States the rules across fields of an EC2NodeClass, for the API server (CEL) and in Python.

A field that is empty counts as absent. Rules of selector terms hold for every single term; the
reference 1.14.1 lets a list pass as long as one of its terms is sound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dovetail.api.facts import Rule

if TYPE_CHECKING:
    from dovetail.providers.aws.node_class.kubelet_shape import KubeletShape
    from dovetail.providers.aws.node_class.terms import PlacementGroupSelector
    from dovetail.providers.aws.node_class.types import (
        BlockDevice,
        BlockDeviceMapping,
        ConnectionTracking,
        EC2NodeClassSpec,
        NetworkInterface,
    )

_TAGS: Final = "(has(self.tags) && size(self.tags) > 0)"
_RESTRICTED_TAGS: Final = (
    "eks:eks-cluster-name",
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
)
_CLUSTER_TAG: Final = "kubernetes.io/cluster"
_CUSTOM: Final = "Custom"
_EFA_ONLY: Final = "efa-only"
# How CEL asks whether a field of a term is there, and the attribute that Python asks.
_FIELDS: Final = {
    "tags": (_TAGS, "tags"),
    "id": ("has(self.id)", "id"),
    "alias": ("has(self.alias)", "alias"),
    "name": ("(has(self.name) && self.name != '')", "name"),
    "owner": ("(has(self.owner) && self.owner != '')", "owner"),
    "ownerID": ("has(self.ownerID)", "owner_id"),
    "instanceMatchCriteria": ("has(self.instanceMatchCriteria)", "instance_match_criteria"),
    "ssmParameter": ("(has(self.ssmParameter) && self.ssmParameter != '')", "ssm_parameter"),
}


def _has(field: str) -> Callable[[Any], bool]:
    attribute = _FIELDS[field][1]
    return lambda term: bool(getattr(term, attribute))


def _any_of(*fields: str) -> Rule:
    checks = [_has(field) for field in fields]
    return Rule(
        cel=" || ".join(_FIELDS[field][0] for field in fields),
        message=f"expected at least one of {', '.join(fields)}",
        holds=lambda term: any(check(term) for check in checks),
    )


def _exclusive(field: str, *others: str) -> Rule:
    has_field, checks = _has(field), [_has(other) for other in others]
    excluded = " || ".join(_FIELDS[other][0] for other in others)
    return Rule(
        cel=f"!{_FIELDS[field][0]} || !({excluded})",
        message=f"expected {field} alone in its term, without {' or '.join(others)}",
        holds=lambda term: not has_field(term) or not any(check(term) for check in checks),
    )


# ---- selector terms

SUBNET_HAS_SELECTOR: Final = _any_of("tags", "id")
SUBNET_ID_ALONE: Final = _exclusive("id", "tags")
GROUP_HAS_SELECTOR: Final = _any_of("tags", "id", "name")
GROUP_ID_ALONE: Final = _exclusive("id", "tags", "name")
GROUP_NAME_ALONE: Final = _exclusive("name", "tags", "id")
RESERVATION_HAS_SELECTOR: Final = _any_of("tags", "id", "instanceMatchCriteria")
RESERVATION_ID_ALONE: Final = _exclusive("id", "tags", "ownerID", "instanceMatchCriteria")
IMAGE_HAS_SELECTOR: Final = _any_of("tags", "id", "name", "alias", "ssmParameter")
IMAGE_ID_ALONE: Final = _exclusive("id", "alias", "tags", "name", "owner", "ssmParameter")
IMAGE_ALIAS_ALONE: Final = _exclusive("alias", "id", "tags", "name", "owner", "ssmParameter")
NO_EMPTY_SELECTOR_TAGS: Final = Rule(
    cel="self.all(key, key != '' && self[key] != '')",
    message='expected tags with a key and a value; "*" stands for any value',
    holds=lambda tags: all(key and value for key, value in tags.items()),
)
ALIAS_IS_THE_ONLY_TERM: Final = Rule(
    cel="size(self) == 1 || !self.exists(term, has(term.alias))",
    message="expected an alias to be the only term",
    holds=lambda terms: len(terms) == 1 or not any(term.alias for term in terms),
)


def _one_placement_group(selector: PlacementGroupSelector) -> bool:
    return bool(selector.name) != bool(selector.id)


ONE_PLACEMENT_GROUP: Final = Rule(
    cel="has(self.name) != has(self.id)",
    message="expected name or id, and not both",
    holds=_one_placement_group,
)

# ---- the whole spec


def _present(field: str, attribute: str) -> Rule:
    return Rule(
        cel=f"size(self.{field}) > 0",
        message=f"expected at least one of {field}",
        holds=lambda spec: bool(getattr(spec, attribute)),
    )


def _one_identity(spec: EC2NodeClassSpec) -> bool:
    return bool(spec.role) != (spec.instance_profile is not None)


def _has_family(spec: EC2NodeClassSpec) -> bool:
    return bool(spec.ami_family) or any(term.alias for term in spec.ami_selector_terms)


def _family_fits_alias(spec: EC2NodeClassSpec) -> bool:
    aliases = [term.alias for term in spec.ami_selector_terms if term.alias]
    if spec.ami_family in {"", _CUSTOM}:
        return True
    return all(alias.split("@")[0] == spec.ami_family.lower() for alias in aliases)


HAS_SUBNETS: Final = _present("subnetSelectorTerms", "subnet_selector_terms")
HAS_GROUPS: Final = _present("securityGroupSelectorTerms", "security_group_selector_terms")
HAS_IMAGES: Final = _present("amiSelectorTerms", "ami_selector_terms")
ONE_IDENTITY: Final = Rule(
    cel="has(self.role) != has(self.instanceProfile)",
    message="expected role or instanceProfile, and not both",
    holds=_one_identity,
)
HAS_FAMILY: Final = Rule(
    cel="has(self.amiFamily) || self.amiSelectorTerms.exists(term, has(term.alias))",
    message="expected amiFamily where amiSelectorTerms has no alias",
    holds=_has_family,
)
FAMILY_FITS_ALIAS: Final = Rule(
    cel=(
        f"!has(self.amiFamily) || self.amiFamily == '{_CUSTOM}' || "
        "self.amiSelectorTerms.all(term, !has(term.alias) || "
        "term.alias.split('@')[0] == self.amiFamily.lowerAscii())"
    ),
    message=f"expected amiFamily to be the family of the alias, or {_CUSTOM}",
    holds=_family_fits_alias,
)


def _has_no_restricted_tag(tags: Mapping[str, str]) -> bool:
    return not any(key in _RESTRICTED_TAGS or key.startswith(_CLUSTER_TAG) for key in tags)


NO_EMPTY_TAG_KEYS: Final = Rule(
    cel="self.all(key, key != '')", message="expected tags with a key", holds=all
)
NO_RESTRICTED_TAGS: Final = Rule(
    cel=(f"self.all(key, !(key in {list(_RESTRICTED_TAGS)}) && !key.startsWith('{_CLUSTER_TAG}'))"),
    message=(
        f"{', '.join(_RESTRICTED_TAGS)} and what begins with {_CLUSTER_TAG} are set by the "
        "controller; expected other tags"
    ),
    holds=_has_no_restricted_tag,
)

# ---- disks, network and connections


def _one_root_volume(mappings: Sequence[BlockDeviceMapping]) -> bool:
    return sum(mapping.root_volume for mapping in mappings) <= 1


def _rate_has_snapshot(volume: BlockDevice) -> bool:
    return volume.volume_initialization_rate is None or bool(volume.snapshot_id)


def _has_volume_source(volume: BlockDevice) -> bool:
    return volume.snapshot_id is not None or volume.volume_size is not None


ONE_ROOT_VOLUME: Final = Rule(
    cel="self.filter(mapping, has(mapping.rootVolume) && mapping.rootVolume).size() <= 1",
    message="expected at most one rootVolume",
    holds=_one_root_volume,
)
HAS_VOLUME_SOURCE: Final = Rule(
    cel="has(self.snapshotID) || has(self.volumeSize)",
    message="expected snapshotID or volumeSize",
    holds=_has_volume_source,
)
RATE_HAS_SNAPSHOT: Final = Rule(
    cel="!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')",
    message="expected snapshotID beside volumeInitializationRate",
    holds=_rate_has_snapshot,
)


def _has_primary_interface(interfaces: Sequence[NetworkInterface]) -> bool:
    return not interfaces or any(
        (item.network_card_index, item.device_index, item.interface_type) == (0, 0, "interface")
        for item in interfaces
    )


def _places_are_unique(interfaces: Sequence[NetworkInterface]) -> bool:
    places = [(interface.network_card_index, interface.device_index) for interface in interfaces]
    return len(set(places)) == len(places)


def _one_efa_per_card(interfaces: Sequence[NetworkInterface]) -> bool:
    cards = [item.network_card_index for item in interfaces if item.interface_type == _EFA_ONLY]
    return len(set(cards)) == len(cards)


HAS_PRIMARY_INTERFACE: Final = Rule(
    cel=(
        "size(self) == 0 || self.exists(one, one.networkCardIndex == 0 && one.deviceIndex == 0 && "
        "one.interfaceType == 'interface')"
    ),
    message="expected an interface of type interface at card 0 and device 0",
    holds=_has_primary_interface,
)
PLACES_ARE_UNIQUE: Final = Rule(
    cel=(
        "self.all(one, self.exists_one(other, one.networkCardIndex == other.networkCardIndex && "
        "one.deviceIndex == other.deviceIndex))"
    ),
    message="expected at most one interface for each networkCardIndex and deviceIndex",
    holds=_places_are_unique,
)
ONE_EFA_PER_CARD: Final = Rule(
    cel=(
        f"self.all(one, one.interfaceType != '{_EFA_ONLY}' || self.exists_one(other, "
        f"other.interfaceType == '{_EFA_ONLY}' && one.networkCardIndex == other.networkCardIndex))"
    ),
    message="expected at most one efa-only interface for each networkCardIndex",
    holds=_one_efa_per_card,
)


def _has_timeout(tracking: ConnectionTracking) -> bool:
    timeouts = (tracking.tcp_established_timeout, tracking.udp_stream_timeout, tracking.udp_timeout)
    return any(timeout is not None for timeout in timeouts)


HAS_TIMEOUT: Final = Rule(
    cel="has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",
    message="expected at least one of tcpEstablishedTimeout, udpStreamTimeout, udpTimeout",
    holds=_has_timeout,
)

# ---- kubelet


def keys_in(names: tuple[str, ...]) -> Rule:
    """A map has no other keys."""
    return Rule(
        cel=f"self.all(key, key in {list(names)})",
        message=f"expected no other keys than {', '.join(names)}",
        holds=lambda entries: set(entries) <= set(names),
    )


def _thresholds_are_ordered(kubelet: KubeletShape) -> bool:
    high, low = kubelet.image_gc_high_threshold_percent, kubelet.image_gc_low_threshold_percent
    return high is None or low is None or high > low


def _soft_evictions_match(kubelet: KubeletShape) -> bool:
    return kubelet.eviction_soft.keys() == kubelet.eviction_soft_grace_period.keys()


def _covers(field: str, other: str) -> str:
    return (
        f"(!has(self.{field}) || size(self.{field}) == 0 || "
        f"(has(self.{other}) && self.{field}.all(key, key in self.{other})))"
    )


NOT_NEGATIVE: Final = Rule(
    cel="self.all(key, !self[key].startsWith('-'))",
    message='expected no values that begin with "-"',
    holds=lambda entries: not any(value.startswith("-") for value in entries.values()),
)
THRESHOLDS_ARE_ORDERED: Final = Rule(
    cel=(
        "!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || "
        "self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent"
    ),
    message="expected imageGCHighThresholdPercent above imageGCLowThresholdPercent",
    holds=_thresholds_are_ordered,
)
SOFT_EVICTIONS_MATCH: Final = Rule(
    cel=(
        f"{_covers('evictionSoft', 'evictionSoftGracePeriod')} && "
        f"{_covers('evictionSoftGracePeriod', 'evictionSoft')}"
    ),
    message="expected evictionSoft and evictionSoftGracePeriod to have the same keys",
    holds=_soft_evictions_match,
)
