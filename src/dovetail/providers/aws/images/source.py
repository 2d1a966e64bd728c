"""Finds the machine images of an EC2NodeClass: asks SSM and EC2, and keeps the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.clock import Clock
from dovetail.providers.aws.apis import AwsApis
from dovetail.providers.aws.calls import calling, required
from dovetail.providers.aws.cluster import ClusterFacts
from dovetail.providers.aws.expiring_cache import ExpiringCache
from dovetail.providers.aws.images import resolution
from dovetail.providers.aws.images.aliases import (
    Variant,
    image_parameters,
    parse_alias,
    unsupported_alias,
)
from dovetail.providers.aws.images.parameter_store import ParameterName, ParameterStore
from dovetail.providers.aws.images.queries import ImageQuery, NamedImage, image_queries
from dovetail.providers.aws.images.resolution import MachineImage
from dovetail.providers.aws.node_class.types import AMI, AMISelectorTerm, EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings

if TYPE_CHECKING:
    from types_aiobotocore_ec2.type_defs import DescribeImagesRequestPaginateTypeDef

_ACTION: Final = "ec2:DescribeImages"
_PAGE: Final = 1000


class ImageFindings(msgspec.Struct, frozen=True):
    """The images of a class, and the selector terms that matched none.

    `unsupported` tells why an alias has no images for this version of Kubernetes; `parameters`
    are the SSM parameters that do not exist.
    """

    amis: tuple[AMI, ...] = ()
    unmatched: tuple[int, ...] = ()
    parameters: tuple[str, ...] = ()
    unsupported: str = ""


class _Named(msgspec.Struct, frozen=True):
    images: tuple[NamedImage, ...] = ()
    missing: tuple[str, ...] = ()


class ImageSource:
    """Machine images by node class."""

    def __init__(
        self, apis: AwsApis, settings: AwsSettings, *, clock: Clock, cluster: ClusterFacts
    ) -> None:
        self._ec2 = apis.ec2
        self._settings = settings
        self._clock = clock
        self._cluster = cluster
        self._parameters = ParameterStore(apis.ssm, clock)
        self._findings: ExpiringCache[tuple[str, int], ImageFindings] = ExpiringCache(clock)

    async def find(self, node_class: EC2NodeClass) -> ImageFindings:
        """The images that the class selects. Raises CallFailedError."""
        key = (node_class.metadata.uid, node_class.metadata.generation)
        kept = self._findings.get(key)
        if kept is not None:
            return kept
        findings = await self._resolve(node_class.spec.ami_selector_terms)
        if findings.amis:
            self._findings.put(key, findings, keep_for=self._settings.ami_refresh_interval)
        return findings

    async def invalidate(self) -> tuple[str, ...]:
        """Forget SSM parameters whose image is deprecated; called every half hour."""
        forgotten = await self._parameters.invalidate(self._ec2)
        if forgotten:
            self._findings.drop(lambda _: True)
        return forgotten

    async def _resolve(self, terms: tuple[AMISelectorTerm, ...]) -> ImageFindings:
        for term in terms:
            if term.alias:
                version = await self._cluster.kubernetes_version()
                if why := unsupported_alias(parse_alias(term.alias), version):
                    return ImageFindings(unsupported=why)
        named = await self._named_images(terms)
        queries = image_queries(terms, named.images)
        candidates = [
            candidate
            for query in queries
            for candidate in resolution.candidates(query, await self._describe(query))
        ]
        matched = {candidate.term for candidate in candidates}
        return ImageFindings(
            amis=resolution.amis(candidates),
            unmatched=tuple(index for index in range(len(terms)) if index not in matched),
            parameters=named.missing,
        )

    async def _named_images(self, terms: tuple[AMISelectorTerm, ...]) -> _Named:
        """The images that terms name by id, by SSM parameter or by alias."""
        images: list[NamedImage] = []
        missing: list[str] = []
        for index, term in enumerate(terms):
            if term.id:
                images.append(NamedImage(term.id, index))
                continue
            for wanted, variants in await self._wanted_names(term):
                image_id = await self._parameters.image_id(wanted)
                if image_id:
                    images.append(NamedImage(image_id, index, variants))
                else:
                    missing.append(wanted.name)
        return _Named(tuple(images), tuple(missing))

    async def _wanted_names(
        self, term: AMISelectorTerm
    ) -> list[tuple[ParameterName, tuple[Variant, ...]]]:
        if term.alias:
            version = await self._cluster.kubernetes_version()
            return [
                (ParameterName(parameter.name, parameter.is_mutable), parameter.variants)
                for parameter in image_parameters(parse_alias(term.alias), version)
            ]
        if term.ssm_parameter:
            return [(ParameterName(term.ssm_parameter, is_custom=True), ())]
        return []

    async def _describe(self, query: ImageQuery) -> tuple[MachineImage, ...]:
        request: DescribeImagesRequestPaginateTypeDef = {
            "Filters": [item.wire() for item in query.filters],
            "IncludeDeprecated": True,
            "PaginationConfig": {"PageSize": _PAGE},
        }
        if query.owners:
            request["Owners"] = query.owners
        now = self._clock.now()
        images: list[MachineImage] = []
        with calling(_ACTION):
            async for page in self._ec2.get_paginator("describe_images").paginate(**request):
                described = required(page.get("Images"), _ACTION)
                images += [resolution.machine_image(image, now) for image in described]
        return tuple(images)
