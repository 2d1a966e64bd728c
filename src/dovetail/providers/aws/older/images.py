"""Converts image families: v1 names images by alias, and has no Ubuntu."""

from __future__ import annotations

from typing import Final

from dovetail.api.older.draft import Draft, Fields
from dovetail.providers.aws.older.selectors import IMAGES, has_terms

_BY_ALIAS: Final = ("AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022")
_UBUNTU: Final = "Ubuntu"
_CUSTOM: Final = "Custom"
_TERMS: Final = "spec.amiSelectorTerms"
_FAMILY: Final = "spec.amiFamily"
_UBUNTU_DISK: Final[Fields] = {
    "deviceName": "/dev/sda1",
    "rootVolume": True,
    "ebs": {"volumeSize": "20Gi", "volumeType": "gp3", "encrypted": True},
}


def put_images(draft: Draft, family: str, source: str) -> None:
    """Set family and terms; terms that were given are in the tree. The family is of `source`."""
    if family not in (*_BY_ALIAS, _UBUNTU, _CUSTOM):
        known = ", ".join((*_BY_ALIAS, _UBUNTU, _CUSTOM))
        draft.refuse(source, f"is {family!r}; expected one of {known}")
    elif has_terms(draft, IMAGES):
        draft.put(_FAMILY, "AL2" if family == _UBUNTU else family, source)
        if family == _UBUNTU:
            _tell_ubuntu(draft, source)
    elif family in _BY_ALIAS:
        alias = f"{family.lower()}@latest"
        draft.remove(_FAMILY)
        draft.put(_TERMS, [{"alias": alias}], source)
        pinned = "" if family.startswith("Windows") else "; write a version to decide when they do"
        draft.tell(source, f"images are those of {alias}: nodes drift to each new one{pinned}")
    else:
        reason = "v1 finds no images of Ubuntu" if family == _UBUNTU else "Custom finds no images"
        draft.refuse(source, f"{reason} by itself; expected terms that select them")


def _tell_ubuntu(draft: Draft, source: str) -> None:
    draft.tell(
        source,
        "v1 has no family Ubuntu: amiFamily AL2 is written, whose user data images of Ubuntu for "
        "EKS understand; keep the terms up to date",
    )
    if draft.source_value("spec.blockDeviceMappings") is None and not draft.has(
        "spec.blockDeviceMappings"
    ):
        draft.put("spec.blockDeviceMappings", [_UBUNTU_DISK])
