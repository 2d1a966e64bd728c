"""Requirements of machine images."""

from __future__ import annotations

import pytest

from dovetail.providers.aws.images.aliases import Variant
from dovetail.providers.aws.images.variants import architecture_of, image_requirements

ARCH = ("kubernetes.io/arch", "In", ("amd64",))
GPUS = "karpenter.k8s.aws/instance-gpu-count"
ACCELERATORS = "karpenter.k8s.aws/instance-accelerator-count"


@pytest.mark.parametrize(
    ("variant", "want"),
    [
        (None, [ARCH]),
        (
            Variant.STANDARD,
            [(ACCELERATORS, "DoesNotExist", ()), (GPUS, "DoesNotExist", ()), ARCH],
        ),
        (Variant.NVIDIA, [(GPUS, "Exists", ()), ARCH]),
        (Variant.NEURON, [(ACCELERATORS, "Exists", ()), ARCH]),
        (
            Variant.WINDOWS2025,
            [
                ARCH,
                ("kubernetes.io/os", "In", ("windows",)),
                ("node.kubernetes.io/windows-build", "In", ("10.0.26100",)),
            ],
        ),
    ],
    ids=["an image of the user", "standard", "nvidia", "neuron", "windows2025"],
)
def test_a_variant_says_which_machines_an_image_is_for(
    variant: Variant | None, want: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    """By key."""
    got = image_requirements("amd64", variant)
    assert [(one.key, one.operator, one.values) for one in got] == want


def test_architectures_are_named_as_kubernetes_does() -> None:
    """Those of Macs have no nodes."""
    names = [architecture_of(one) for one in ("x86_64", "arm64", "arm64_mac", "i386")]
    assert names == ["amd64", "arm64", "", ""]
