"""Computes the launch template with which the launch of a node class is tried."""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail import labels
from dovetail.providers.aws.bootstrap.families import family_of
from dovetail.providers.aws.bootstrap.user_data import BootstrapInputs, user_data
from dovetail.providers.aws.catalogue.capacity import kubelet_for
from dovetail.providers.aws.catalogue.class_facts import NO_GROUP, class_facts
from dovetail.providers.aws.catalogue.machines import MachineType
from dovetail.providers.aws.launching.templates import (
    TemplateInputs,
    launch_template,
    static_tags,
)
from dovetail.providers.aws.node_class.kubelet import ResolvedKubelet
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.validating.trials import TrialSubject, TrialTemplate

_NO_POOL: Final = "none"  # IAM policies want the tag of the NodePool to be there


class TrialBoot(msgspec.Struct, frozen=True):
    """What user data is computed from besides the class: machine type and Service addresses."""

    machine: MachineType | None = None
    service_cidr: str = ""


def trial_template(
    node_class: EC2NodeClass, subject: TrialSubject, boot: TrialBoot, settings: AwsSettings
) -> TrialTemplate:
    """The template, as launches make it, under a name that no launch uses. Raises UserDataError."""
    status = node_class.status
    made = launch_template(
        TemplateInputs(
            spec=node_class.spec,
            image_id=subject.ami.id,
            user_data=_user_data(node_class, subject, boot, settings),
            instance_profile=status.instance_profile,
            security_groups=tuple(group.id for group in status.security_groups),
            region=settings.region,
            capacity_type=labels.ON_DEMAND,
            tags=static_tags(
                cluster_name=settings.cluster_name,
                node_pool=_NO_POOL,
                node_class=node_class.metadata.name,
                own=node_class.spec.tags,
            ),
        )
    )
    return TrialTemplate(f"{made.name}/trial", made.data, made.tags)


def _user_data(
    node_class: EC2NodeClass, subject: TrialSubject, boot: TrialBoot, settings: AwsSettings
) -> str:
    spec = node_class.spec
    inputs = BootstrapInputs(
        cluster_name=settings.cluster_name,
        cluster_endpoint=settings.cluster_endpoint,
        ca_bundle=settings.cluster_ca_bundle,
        cluster_cidr=boot.service_cidr,
        kubelet=_kubelet(node_class, boot.machine, settings),
        labels={labels.NODE_POOL: _NO_POOL},
        capacity_type=labels.ON_DEMAND,
        instance_store_policy=spec.instance_store_policy,
        image_names=(subject.ami.name,),
        ami_selector_terms=spec.ami_selector_terms,
        custom=spec.user_data,
    )
    return user_data(family_of(spec), inputs)


def _kubelet(
    node_class: EC2NodeClass, machine: MachineType | None, settings: AwsSettings
) -> ResolvedKubelet:
    if machine is None:
        return ResolvedKubelet()
    return kubelet_for(machine, class_facts(node_class, settings, NO_GROUP).capacity)
