"""Kubelet settings as flags."""

from __future__ import annotations

import pytest

from dovetail.providers.aws.bootstrap.inputs import UserDataError
from dovetail.providers.aws.bootstrap.kubelet_settings import (
    cluster_dns,
    kubelet_flags,
    max_pods,
    uses_ipv6,
)
from dovetail.providers.aws.node_class.kubelet import ResolvedKubelet
from tests.unit.providers.aws.bootstrap.cases import KUBELET, inputs

PLAIN = ResolvedKubelet()


def test_every_setting_has_its_flag_and_flags_are_sorted() -> None:
    """So are the entries of maps."""
    assert kubelet_flags(inputs(kubelet=KUBELET, labels={}, taints=(), startup_taints=())) == (
        "--cpu-cfs-quota=false",
        "--eviction-hard=memory.available<5%,nodefs.available<10%",
        "--eviction-max-pod-grace-period=60",
        "--eviction-soft-grace-period=memory.available=1m30s",
        "--eviction-soft=memory.available<500Mi",
        "--image-gc-high-threshold=85",
        "--image-gc-low-threshold=80",
        "--kube-reserved=cpu=200m,memory=300Mi,pid=1000",
        "--max-pods=58",
        "--node-labels=karpenter.sh/capacity-type=spot,karpenter.sh/do-not-sync-taints=true",
        "--pods-per-core=10",
        "--register-with-taints=karpenter.sh/unregistered:NoExecute",
        "--system-reserved=cpu=100m,ephemeral-storage=1Gi,memory=100Mi",
    )


def test_settings_that_are_not_there_have_no_flag() -> None:
    """Zero is a setting."""
    names = [flag.partition("=")[0] for flag in kubelet_flags(inputs(max_pods=None))]
    assert names == ["--node-labels", "--register-with-taints"]
    zero = inputs(kubelet=ResolvedKubelet(image_gc_low_threshold_percent=0, max_pods=0))
    assert {"--image-gc-low-threshold=0", "--max-pods=0"} <= set(kubelet_flags(zero))


@pytest.mark.parametrize(
    ("kubelet", "computed", "want"),
    [
        pytest.param(KUBELET, 29, 58, id="the node class wins"),
        pytest.param(PLAIN, 29, 29, id="as capacity was computed"),
        pytest.param(PLAIN, None, None, id="left to the image"),
    ],
)
def test_the_number_of_pods_is_the_classs_or_the_computed_one(
    kubelet: ResolvedKubelet, computed: int | None, want: int | None
) -> None:
    """The node must have the capacity that scheduling assumed."""
    assert max_pods(inputs(kubelet=kubelet, max_pods=computed)) == want


def test_dns_is_the_classs_or_the_clusters() -> None:
    """IPv6 is told by the first address."""
    assert cluster_dns(inputs(kubelet=KUBELET)) == ("10.100.0.53",)
    assert cluster_dns(inputs()) == ("10.100.0.10",)
    assert not uses_ipv6(inputs())
    assert not uses_ipv6(inputs(dns_ips=()))
    assert uses_ipv6(inputs(dns_ips=("fd00::a", "10.0.0.1")))


def test_an_address_that_is_none_is_refused() -> None:
    """The message names the field."""
    wrong = ResolvedKubelet(cluster_dns=("$(reboot)",))
    with pytest.raises(UserDataError, match=r"^spec\.kubelet\.clusterDNS: .*expected an IP"):
        uses_ipv6(inputs(kubelet=wrong))


@pytest.mark.parametrize(
    "reserved",
    [
        pytest.param({"cpu": "1,memory=0"}, id="another entry in a value"),
        pytest.param({"cpu": "1 --anonymous-auth"}, id="another flag in a value"),
        pytest.param({"cpu": "1'"}, id="a quote"),
        pytest.param({"cpu=1,memory": "1"}, id="another entry in a name"),
        pytest.param({"cpu": ""}, id="nothing"),
    ],
)
def test_what_kubelet_would_read_otherwise_is_refused(reserved: dict[str, str]) -> None:
    """The message names the field."""
    given = inputs(kubelet=ResolvedKubelet(system_reserved=reserved))
    with pytest.raises(UserDataError, match=r"^spec\.kubelet\.systemReserved: .*expected"):
        kubelet_flags(given)
