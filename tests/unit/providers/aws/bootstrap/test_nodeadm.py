"""User data of Amazon Linux 2023. Its whole text is in the golden files."""

from __future__ import annotations

import pytest

from dovetail.providers.aws.bootstrap.inputs import UserDataError
from dovetail.providers.aws.bootstrap.mime import parts_of
from dovetail.providers.aws.bootstrap.nodeadm import al2023, node_config
from dovetail.providers.aws.node_class.kubelet import ResolvedKubelet
from tests.unit.providers.aws.bootstrap.cases import ARCHIVE, NODE_CONFIG, SHELL, inputs

HEREDOC = f"#!/bin/sh\ncat <<EOF\n{NODE_CONFIG}EOF\n"


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("cluster_name", "name"),
        ("cluster_endpoint", "apiServerEndpoint"),
        ("ca_bundle", "certificateAuthority"),
        ("cluster_cidr", "cidr"),
    ],
)
def test_what_nodeadm_insists_on_must_be_known(field: str, name: str) -> None:
    """Otherwise instances would start and never join."""
    with pytest.raises(UserDataError, match=rf"^cluster {name}: empty"):
        al2023(inputs(**{field: ""}))


def test_all_kubelet_settings_are_passed_on_but_the_taints_are_ours() -> None:
    """Also settings that Dovetail knows nothing of."""
    raw = {"allowedUnsafeSysctls": ["a.*"], "registerWithTaints": []}
    tree = node_config(inputs(kubelet=ResolvedKubelet(raw=raw), taints=(), startup_taints=()))
    spec = tree["spec"]
    assert isinstance(spec, dict)
    assert spec["kubelet"]["config"] == {
        "allowedUnsafeSysctls": ["a.*"],
        "clusterDNS": ["10.100.0.10"],
        "maxPods": 29,
        "registerWithTaints": [{"effect": "NoExecute", "key": "karpenter.sh/unregistered"}],
    }


@pytest.mark.parametrize(
    ("custom", "want"),
    [
        pytest.param(SHELL, ["text/x-shellscript"], id="a script"),
        pytest.param(HEREDOC, ["text/x-shellscript"], id="a script that contains a NodeConfig"),
        pytest.param("echo 'node.eks.aws/", ["text/x-shellscript"], id="commands that name it"),
        pytest.param("echo hello", ["text/x-shellscript"], id="commands"),
        pytest.param(NODE_CONFIG, ["application/node.eks.aws"], id="a NodeConfig"),
        pytest.param(f"---\n{NODE_CONFIG}", ["application/node.eks.aws"], id="with a separator"),
        pytest.param(
            '{"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig"}',
            ["application/node.eks.aws"],
            id="a NodeConfig in JSON",
        ),
        pytest.param(ARCHIVE, ["text/cloud-config", "application/node.eks.aws"], id="an archive"),
    ],
)
def test_the_users_part_comes_first_with_its_own_type(custom: str, want: list[str]) -> None:
    """Ours is last, so that it wins."""
    parts = parts_of(al2023(inputs(custom=custom)))
    assert [part.content_type for part in parts] == [*want, "application/node.eks.aws"]


BROKEN = NODE_CONFIG.replace("spec:", "spec: [")


@pytest.mark.parametrize(
    "custom",
    [
        pytest.param(BROKEN, id="alone"),
        pytest.param(ARCHIVE.replace(NODE_CONFIG, BROKEN), id="in an archive"),
        pytest.param(NODE_CONFIG + "spec: {}\n", id="a key twice"),
    ],
)
def test_a_nodeconfig_that_is_not_yaml_is_refused(custom: str) -> None:
    """nodeadm would stop at it. The message says where."""
    with pytest.raises(UserDataError, match=r"^spec\.userData: malformed NodeConfig: line \d+"):
        al2023(inputs(custom=custom))


def test_an_encoded_part_is_left_alone() -> None:
    """It is not ours to decode."""
    header = "Content-Type: application/node.eks.aws"
    encoded = ARCHIVE.replace(header, f"{header}\nContent-Transfer-Encoding: base64")
    assert "Content-Transfer-Encoding" in al2023(inputs(custom=encoded))
