"""Lists where Dovetail differs from the reference on purpose, each with its reason.

`KNOWN` is of the library, `CONTROLLERS` of the running controllers. They are data: a comparison
fails for a difference that is not listed, and for an entry that nothing needs any more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple


class Meant(NamedTuple):
    """A difference that is meant: what the comparison says of it, and why it is right."""

    pattern: re.Pattern[str]
    reason: str


KNOWN: Final = (
    Meant(
        re.compile(
            r"instance-hypervisor: \('DoesNotExist', \[\]\), the reference has \('In', \[''\]\)"
        ),
        "Bare metal has no hypervisor. The reference gives the label an empty value; a label that "
        "does not apply is absent here, as all others are in both.",
    ),
    Meant(
        re.compile(
            r"clock-speed-mhz: \('DoesNotExist', \[\]\), the reference has \('In', \['0'\]\)"
        ),
        "EC2 does not publish the clock speed of some old types. The reference says 0 MHz.",
    ),
    Meant(
        re.compile(r"instance-network-bandwidth: "),
        "The reference has a table that is made by hand for each release. Dovetail takes the "
        "baseline that EC2 describes, for every type, also those that a table does not have yet.",
    ),
    Meant(
        re.compile(
            r"(capacity|allocatable) ((vpc\.amazonaws\.com/[A-Za-z0-9-]+: \d+ for None)(, )?)+$"
        ),
        "The table of VPC limits is newer than the reference's: it has types that the other lacks.",
    ),
)


CONTROLLERS: Final = (
    Meant(
        re.compile(r"annotation dovetail\.sh/made-by-run of the (claim|node): "),
        "Tells the launches of a run that ended early from others. It is Dovetail's own.",
    ),
    Meant(
        re.compile(
            r"(annotation aws\.dovetail\.sh/fleet of the (claim|node)|"
            r"annotation aws\.dovetail\.sh/fleet-request of the claim|aws\.dovetail\.sh/fleet): "
        ),
        "Names the fleet request of a claim, so that one whose answer was lost is found again; the "
        "whole request is kept until the node has joined.",
    ),
    Meant(
        re.compile(
            r"annotation karpenter\.sh/nodeclaim-min-values-relaxed of the (claim|node): "
            r"nothing, the reference has false"
        ),
        "Only what is so is said: the annotation is there when minValues were relaxed.",
    ),
    Meant(
        re.compile(r"label karpenter\.k8s\.aws/nitro-sandbox of the (claim|node): "),
        "The label is newer than 1.14.1.",
    ),
    Meant(
        re.compile(
            r"requirement (karpenter\.sh/nodepool|karpenter\.k8s\.aws/ec2nodeclass|team|"
            r"example\.com/tier) of the claim: nothing, "
        ),
        "Labels of the claim say the same; requirements choose a machine.",
    ),
    Meant(
        re.compile(r"requirement topology\.kubernetes\.io/zone of the claim: "),
        "A claim names the zones that were planned with, where the reference names them only when "
        "pod or pool do.",
    ),
    Meant(
        re.compile(
            r"al2023-reserved: requirement (karpenter\.k8s\.aws/capacity-reservation-id|"
            r"karpenter\.sh/capacity-type) of the claim: "
        ),
        "A claim for a reservation may also become what else its pool allows, if the reservation "
        "is used up meanwhile; the request to EC2 is the same.",
    ),
    Meant(
        re.compile(r"al2023-reserved: overrides: .* Priority: 3.8e-08, the reference has 3.84e-08"),
        "Prices are whole nanodollars; that of reserved capacity is next to nothing.",
    ),
    Meant(
        re.compile(r"al2023-no-profile: (condition|profile) "),
        "1.14.1 does not look whether spec.instanceProfile exists, and fails at the launch.",
    ),
    Meant(
        re.compile(r"\('False', 'PlacementGroupNotFound'\), the reference has \('False', 'Pl"),
        "EC2 answers an unknown name with an error, which the reference takes for a failed call.",
    ),
    Meant(
        re.compile(r"condition ConsistentStateFound of the claim: .* the reference has nothing"),
        "The reference looks for the first time after ten minutes.",
    ),
)


def unexplained(differences: list[str], known: Sequence[Meant] = KNOWN) -> list[str]:
    """The differences that no entry explains."""
    return [text for text in differences if not any(each.pattern.search(text) for each in known)]


def unused(differences: list[str], known: Sequence[Meant] = KNOWN) -> list[str]:
    """The reasons of entries that explain nothing."""
    return [
        each.reason for each in known if not any(each.pattern.search(text) for text in differences)
    ]
