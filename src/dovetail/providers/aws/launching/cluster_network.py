"""Reads what instances must know of the cluster's network."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import api
from dovetail.clock import Clock
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Kube, Ref
from dovetail.providers.aws.bootstrap.families import Family
from dovetail.providers.aws.cluster import ClusterFacts
from dovetail.providers.aws.launching.orders import ClusterNetwork

_SERVICE: Final = api.KINDS["", "Service"]
_DNS: Final = Ref(_SERVICE, "kube-dns", "kube-system")
_KEPT_FOR: Final = timedelta(minutes=10)
_AGAIN_AFTER: Final = timedelta(seconds=30)


class _ServiceSpec(msgspec.Struct, frozen=True, rename="camel"):
    cluster_ip: str = msgspec.field(default="", name="clusterIP")


class _Service(msgspec.Struct, frozen=True):
    spec: _ServiceSpec = _ServiceSpec()


_reader: Final = msgspec.json.Decoder(_Service)


class ClusterNetworkReader:
    """The address of the cluster's DNS, and the addresses of Services where nodes need them."""

    def __init__(self, kube: Kube, facts: ClusterFacts, clock: Clock) -> None:
        self._kube = kube
        self._facts = facts
        self._clock = clock
        self._dns_ips: tuple[str, ...] = ()
        self._read_again_at: datetime | None = None

    async def read(self, family: Family) -> ClusterNetwork:
        """What is known now. A cluster without kube-dns is no error: kubelet may name its DNS.

        Raises CallFailedError if nodes need the addresses of Services and EKS does not tell them.
        """
        cidr = await self._facts.service_cidr() if family is Family.AL2023 else ""
        return ClusterNetwork(cidr, await self._dns())

    async def _dns(self) -> tuple[str, ...]:
        now = self._clock.now()
        if self._read_again_at is not None and now < self._read_again_at:
            return self._dns_ips
        try:
            address = _reader.decode(await self._kube.get(_DNS)).spec.cluster_ip
        except (ApiError, msgspec.DecodeError):
            self._read_again_at = now + _AGAIN_AFTER
            return self._dns_ips
        self._dns_ips = (address,) if address and address != "None" else ()
        self._read_again_at = now + _KEPT_FOR
        return self._dns_ips
