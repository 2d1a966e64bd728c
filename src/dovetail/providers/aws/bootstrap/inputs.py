"""Defines what user data is computed from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail.errors import InputError
from dovetail.model.taints import Taint
from dovetail.providers.aws.node_class.kubelet import ResolvedKubelet
from dovetail.providers.aws.node_class.types import AMISelectorTerm

USER_DATA: Final = "spec.userData"
NO_LABELS: Final[Mapping[str, str]] = {}


class BootstrapInputs(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the user data of one launch template depends on.

    `dns_ips` are the addresses of the cluster's DNS service, for kubelet settings that name none.
    `max_pods` is the capacity for pods of the template's machine types, for kubelet settings that
    leave `maxPods` open. `labels` are those of the NodeClaim, `capacity_type` the one that was
    chosen at launch. `image_names` are names of the images of this template; they and
    `ami_selector_terms` tell the version of Bottlerocket. `custom` is `spec.userData`.
    """

    cluster_name: str
    kubelet: ResolvedKubelet
    cluster_endpoint: str = ""
    ca_bundle: str = ""
    cluster_cidr: str = ""
    dns_ips: tuple[str, ...] = ()
    max_pods: int | None = None
    labels: Mapping[str, str] = NO_LABELS
    capacity_type: str = ""
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    instance_store_policy: str | None = None
    image_names: tuple[str, ...] = ()
    ami_selector_terms: tuple[AMISelectorTerm, ...] = ()
    custom: str | None = None


class UserDataError(InputError):
    """User data cannot be written. `field` is the field at fault (`spec.userData`)."""

    def __init__(self, message: str, *, field: str = USER_DATA) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message
