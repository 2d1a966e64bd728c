"""Defines what a provider brings to convert manifests of its own older kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from dovetail.api.older.draft import Draft, Fields

NO_TEXTS: Mapping[str, str] = {}


class ConversionOptions(msgspec.Struct, frozen=True):
    """What a conversion is told besides the manifests.

    `role` and `instance_profile` are for node classes that name neither. `settings` are the entries
    of the ConfigMap karpenter-global-settings, if it is among the manifests. `is_for_reading` means
    that the result is planned with, not applied.
    """

    role: str = ""
    instance_profile: str = ""
    writes_defaults: bool = True
    is_for_reading: bool = False
    settings: Mapping[str, str] = NO_TEXTS


Converter = Callable[[Fields, ConversionOptions], Draft]


class OlderKind(msgspec.Struct, frozen=True):
    """A kind of an older version, and its conversion to an object of v1."""

    group: str
    versions: tuple[str, ...]
    name: str
    convert: Converter


class OlderNodeClasses(msgspec.Struct, frozen=True):
    """What a provider brings. `group` and `kind` are those of its node class in v1.

    `inline` converts `spec.provider` of a Provisioner to a node class without a name.
    `default_requirements` are those that the webhook added, given the keys that are constrained.
    `dropped_labels` have no equal, `renamed_labels` have another name, and `settings` say what
    became of an entry of the ConfigMap karpenter-global-settings.
    """

    group: str
    kind: str
    kinds: tuple[OlderKind, ...]
    inline: Converter
    default_requirements: Callable[[frozenset[str]], tuple[Fields, ...]]
    dropped_labels: tuple[str, ...] = ()
    renamed_labels: Mapping[str, str] = NO_TEXTS
    settings: Mapping[str, str] = NO_TEXTS
