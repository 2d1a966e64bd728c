"""User data says what the reference's says."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.api.decoding import decode
from dovetail.model.taints import Effect, Taint
from dovetail.providers.aws.bootstrap.families import Family, family_of
from dovetail.providers.aws.bootstrap.user_data import BootstrapInputs, user_data
from dovetail.providers.aws.catalogue.capacity import kubelet_for
from dovetail.providers.aws.catalogue.class_facts import class_facts
from dovetail.providers.aws.catalogue.machines import machine_type
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.units import quantity
from tests.reference_aws.conftest import Judged
from tests.reference_aws.documents import meaning
from tests.reference_aws.ours import settings
from tests.reference_aws.reference import TemplateAnswer, Tree, machines


def test_user_data_means_the_same(judged: list[Judged]) -> None:
    """Each template of each node class, read as nodeadm, bootstrap.sh or Bottlerocket read it."""
    differences = [
        f"seed {each.seed}: {difference}"
        for each in judged
        for template in each.answer.templates or ()
        for difference in _differences(each, template)
    ]
    assert differences[:10] == []


def _differences(judged: Judged, template: TemplateAnswer) -> Iterator[str]:
    node_class = decode(EC2NodeClass, judged.question["NodeClass"])
    family = family_of(node_class.spec)
    name = (template.instance_types or [""])[0]
    ours = meaning(family, user_data(family, _inputs(judged, node_class, name)))
    theirs = meaning(family, template.user_data)
    if ours != theirs:
        yield f"{family} for {name}:\n  ours   {ours}\n  theirs {theirs}"


def _inputs(judged: Judged, node_class: EC2NodeClass, name: str) -> BootstrapInputs:
    asked = judged.question
    facts = class_facts(node_class, settings(asked))
    spec = asked["NodeClaim"]["spec"]
    capacity = judged.answer.types[name].capacity
    return BootstrapInputs(
        cluster_name=asked["Settings"]["ClusterName"],
        cluster_endpoint=asked["Settings"]["ClusterEndpoint"],
        ca_bundle=asked["CABundle"],
        cluster_cidr=asked["ClusterCIDR"],
        dns_ips=(asked["DNSIP"],),
        kubelet=kubelet_for(machine_type(machines()[name]), facts.capacity),  # type: ignore[arg-type]  # as JSON has it
        max_pods=quantity.amount("pods", capacity.get("pods", "0")),
        labels=asked["Labels"],
        taints=_taints(spec["taints"]),
        startup_taints=_taints(spec["startupTaints"]),
        instance_store_policy=node_class.spec.instance_store_policy,
        image_names=tuple(image.name for image in node_class.status.amis),
        ami_selector_terms=node_class.spec.ami_selector_terms,
        custom=node_class.spec.user_data,
    )


def _taints(given: list[Tree]) -> tuple[Taint, ...]:
    return tuple(
        Taint(taint["key"], taint.get("value", ""), Effect(taint["effect"])) for taint in given
    )


def test_every_family_has_templates_to_compare(judged: list[Judged]) -> None:
    """The reference made templates for each of them."""
    seen = {
        family_of(decode(EC2NodeClass, each.question["NodeClass"]).spec)
        for each in judged
        if each.answer.templates
    }
    assert seen == set(Family)
