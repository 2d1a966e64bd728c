"""Launch templates hold what the reference's hold."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.api.decoding import decode
from dovetail.providers.aws.launching.templates import TemplateInputs, launch_template
from dovetail.providers.aws.node_class.types import EC2NodeClass
from tests.reference_aws.conftest import Judged
from tests.reference_aws.documents import sorted_lists, stated
from tests.reference_aws.reference import REGION, TemplateAnswer, machines

_EFA = "vpc.amazonaws.com/efa"
# Compared by meaning in test_user_data.py.
_APART = ("UserData",)


def test_templates_hold_what_the_reference_has(judged: list[Judged]) -> None:
    """Each template of each generated node class, field by field."""
    differences = [
        f"seed {each.seed}: {difference}"
        for each in judged
        for template in each.answer.templates or ()
        for difference in _differences(each, template)
    ]
    assert differences[:20] == []


def test_no_template_mixes_what_one_template_cannot_hold(judged: list[Judged]) -> None:
    """The reference makes several templates for one claim, so that the comparison sees that."""
    assert max(len(each.answer.templates or ()) for each in judged) > 1


def _differences(judged: Judged, template: TemplateAnswer) -> Iterator[str]:
    ours = launch_template(_inputs(judged, template))
    theirs = sorted_lists(stated(template.input["LaunchTemplateData"]))
    mine = sorted_lists(stated(ours.data))
    for field in sorted({*mine, *theirs} - {*_APART}):
        if mine.get(field) != theirs.get(field):
            yield f"{field}: {mine.get(field)}, the reference has {theirs.get(field)}"


def _inputs(judged: Judged, template: TemplateAnswer) -> TemplateInputs:
    asked = judged.question
    node_class = decode(EC2NodeClass, asked["NodeClass"])
    wants_efa = _EFA in asked["NodeClaim"]["spec"]["resources"]["requests"]
    names = template.instance_types or []
    n_efas = max((_n_efas(name) for name in names), default=0) if wants_efa else 0
    return TemplateInputs(
        spec=node_class.spec,
        image_id=template.image_id,
        user_data="",
        instance_profile=node_class.status.instance_profile,
        security_groups=tuple(group.id for group in node_class.status.security_groups),
        region=REGION,
        capacity_type=asked["CapacityType"],
        tags=asked["Tags"],
        n_efas=n_efas,
        is_ipv6=asked["IPFamily"] == "IPv6",
        tenancy=asked["Tenancy"],
        knows_reservations=asked["Settings"]["ReservedCapacity"],
    )


def _n_efas(name: str) -> int:
    network = machines()[name]["NetworkInfo"]
    return int(network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0))
