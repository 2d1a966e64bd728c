"""Converts AWSNodeTemplates, inline providers and EC2NodeClasses of v1beta1 to EC2NodeClasses."""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail.api.decoding import DecodeError, Tree, decode
from dovetail.api.older.door import ConversionOptions
from dovetail.api.older.draft import Draft, Fields, as_fields, texts
from dovetail.api.older.fields import report_unknown
from dovetail.providers.aws.node_class import rules
from dovetail.providers.aws.node_class.definition import KIND
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.older.images import put_images
from dovetail.providers.aws.older.selectors import GROUPS, IMAGES, SUBNETS, put_terms
from dovetail.providers.aws.older.shapes import (
    AWSNodeTemplateShape,
    BetaNodeClass,
    InlineProvisionerShape,
)

_RECOMPUTED: Final = "the controller computes it anew; left out"
_SAME: Final = ("userData", "blockDeviceMappings", "detailedMonitoring", "context")
_HOP_LIMIT: Final = "httpPutResponseHopLimit"
_UNKNOWN_ROLE: Final = "unknown"
_MANAGED_BY: Final = "karpenter.sh/managed-by"


def from_template(source: Fields, options: ConversionOptions) -> Draft:
    """The class of an AWSNodeTemplate."""
    draft = Draft(source)
    draft.put("apiVersion", KIND.api_version, "apiVersion")
    draft.put("kind", KIND.name, "kind")
    draft.copy("metadata")
    if not _has_shape(draft, AWSNodeTemplateShape):
        return draft
    _from_v1alpha1(draft, "spec", options)
    draft.leave_out("status", _RECOMPUTED)
    others: dict[str, type[msgspec.Struct]] = {
        "EC2NodeClass (karpenter.k8s.aws/v1beta1)": BetaNodeClass,
        "EC2NodeClass (karpenter.k8s.aws/v1)": EC2NodeClass,
    }
    report_unknown(draft, AWSNodeTemplateShape, others=others)
    return draft


def from_inline(source: Fields, options: ConversionOptions) -> Draft:
    """The class of a Provisioner's `spec.provider`, without a name."""
    draft = Draft(source)
    draft.put("apiVersion", KIND.api_version)
    draft.put("kind", KIND.name)
    draft.put("metadata", {})
    draft.moves[("spec",)] = ("spec", "provider")
    if not _has_shape(draft, InlineProvisionerShape):
        return draft
    _from_v1alpha1(draft, "spec.provider", options)
    known = {"AWSNodeTemplate": AWSNodeTemplateShape}
    inline = Draft({"spec": {"provider": draft.source_value("spec.provider")}})
    report_unknown(inline, InlineProvisionerShape, others=known)
    draft.notices += inline.notices
    return draft


def from_beta(source: Fields, options: ConversionOptions) -> Draft:
    """The class of an EC2NodeClass of v1beta1."""
    draft = Draft(source, source)
    draft.put("apiVersion", KIND.api_version, "apiVersion")
    if not _has_shape(draft, BetaNodeClass):
        return draft
    others = {"AWSNodeTemplate (karpenter.k8s.aws/v1alpha1)": AWSNodeTemplateShape}
    report_unknown(draft, BetaNodeClass, current=EC2NodeClass, others=others)
    if not _has_alias(draft):
        put_images(draft, str(draft.source_value("spec.amiFamily") or "AL2"), "spec.amiFamily")
    _finish(draft, "spec", options)
    draft.leave_out("status", _RECOMPUTED)
    draft.remove("status")
    return draft


def _from_v1alpha1(draft: Draft, prefix: str, options: ConversionOptions) -> None:
    for field in ("launchTemplate", "launchTemplateName"):
        if draft.source_value(f"{prefix}.{field}") is not None:
            draft.refuse(
                f"{prefix}.{field}",
                "v1 takes no launch template; write what it contains as fields of an EC2NodeClass",
            )
    for selector in (SUBNETS, GROUPS, IMAGES):
        put_terms(draft, prefix, selector)
    put_images(
        draft, str(draft.source_value(f"{prefix}.amiFamily") or "AL2"), f"{prefix}.amiFamily"
    )
    draft.copy(f"{prefix}.instanceProfile", "spec.instanceProfile")
    for field in (*_SAME, "tags", "metadataOptions"):
        draft.copy(f"{prefix}.{field}", f"spec.{field}")
    _finish(draft, prefix, options)


def _finish(draft: Draft, prefix: str, options: ConversionOptions) -> None:
    """Write out what v1 has other defaults for, and name an identity."""
    if not draft.has(f"spec.metadataOptions.{_HOP_LIMIT}"):
        draft.put(f"spec.metadataOptions.{_HOP_LIMIT}", 2)
        draft.tell(
            f"{prefix}.metadataOptions.{_HOP_LIMIT}",
            "absent, it was 2: 2 is written, since v1 has 1, with which pods do not reach the "
            "metadata service",
        )
    _put_global_tags(draft, options)
    for key, _ in list(texts(draft.at("spec.tags"))):
        if key == _MANAGED_BY or not _is_free(key):
            draft.remove(("spec", "tags", key))
            draft.tell((*prefix.split("."), "tags", key), "the controller sets it; left out")
    if as_fields(draft.tree.get("spec")).get("tags") == {}:
        draft.remove("spec.tags")
    _put_identity(draft, prefix, options)


def _is_free(key: str) -> bool:
    holds = rules.NO_RESTRICTED_TAGS.holds
    return holds is None or holds({key: ""})


def _put_global_tags(draft: Draft, options: ConversionOptions) -> None:
    given = options.settings.get("aws.tags")
    if not given:
        return
    try:
        tags = decode(dict[str, str], given.encode())
    except DecodeError:
        return  # reported at the ConfigMap, as any entry is
    own = as_fields(draft.at("spec.tags"))
    added: dict[str, Tree] = {key: value for key, value in tags.items() if key not in own}
    if added:
        draft.put("spec.tags", own | added, draft.moves.get(("spec", "tags"), ("spec", "tags")))


def _put_identity(draft: Draft, prefix: str, options: ConversionOptions) -> None:
    if draft.has("spec.role") or draft.has("spec.instanceProfile"):
        return
    default = options.settings.get("aws.defaultInstanceProfile", "")
    profile = options.instance_profile or ("" if options.role else default)
    where = f"{prefix}.instanceProfile"
    if profile:
        draft.put("spec.instanceProfile", profile)
    elif options.role:
        draft.put("spec.role", options.role)
    elif options.is_for_reading:
        draft.put("spec.role", _UNKNOWN_ROLE)
        draft.tell(where, "names no identity of nodes, nor is there a role; v1 needs one of both")
    else:
        draft.refuse(
            where,
            "names no identity of nodes, nor is there a role; "
            "expected one of both, or --role NAME or --instance-profile NAME",
        )


def _has_alias(draft: Draft) -> bool:
    terms = draft.at("spec.amiSelectorTerms")
    return isinstance(terms, list) and any("alias" in as_fields(term) for term in terms)


def _has_shape(draft: Draft, shape: type[msgspec.Struct]) -> bool:
    try:
        decode(shape, draft.source)
    except DecodeError as error:
        draft.refuse(error.problem.field, error.problem.message)
        return False
    return True
