"""User data of Windows. Its whole text is in the golden files."""

from __future__ import annotations

import pytest

from dovetail.providers.aws.bootstrap.inputs import UserDataError
from dovetail.providers.aws.bootstrap.windows import windows
from tests.ec2.kubelet.command_lines import powershell_arguments, powershell_block
from tests.unit.providers.aws.bootstrap.cases import inputs

NASTY = "a'b\u2019c\u201b$(reboot)`n\"d\n-DNSClusterIP '1'"


def test_powershell_gets_exactly_the_texts_that_were_given() -> None:
    """Nothing in a name is expanded or ends the text; curly quotes are quotes to PowerShell."""
    text = windows(inputs(cluster_name=NASTY, cluster_endpoint=NASTY))
    got = powershell_arguments(powershell_block(text).partition('.ps1"')[2])
    assert got["EKSClusterName"] == NASTY
    assert got["APIServerEndpoint"] == NASTY
    assert got["DNSClusterIP"] == "10.100.0.10"
    assert list(got) == ["EKSClusterName", "APIServerEndpoint", "Base64ClusterCA",
        "KubeletExtraArgs", "DNSClusterIP"]  # fmt: skip


def test_the_users_commands_come_first_in_the_same_block() -> None:
    """They are kept as they are."""
    lines = windows(inputs(custom='Write-Host "a"\r\nWrite-Host "b"\n')).split("\n")
    assert lines[:3] == ["<powershell>", 'Write-Host "a"\r', 'Write-Host "b"']
    assert lines[-2:] == ["</powershell>", ""]


@pytest.mark.parametrize(
    "custom",
    ["</powershell>", "<powershell>\nWrite-Host 1\n</powershell>", "# </PowerShell >"],
    ids=["an end", "a block", "in a comment"],
)
def test_tags_in_the_users_commands_are_refused(custom: str) -> None:
    """The block would end there, and the node would not join."""
    with pytest.raises(UserDataError, match=r"^spec\.userData: .*PowerShell without tags"):
        windows(inputs(custom=custom))


def test_a_tag_in_the_name_of_the_cluster_is_refused() -> None:
    """No quotes keep it from ending the block."""
    with pytest.raises(UserDataError, match=r"^EKSClusterName: contains the tag </powershell>"):
        windows(inputs(cluster_name="a</powershell>"))


def test_what_is_not_known_is_not_passed() -> None:
    """The script asks EKS for it."""
    text = windows(inputs(cluster_endpoint="", ca_bundle="", dns_ips=()))
    for name in ("APIServerEndpoint", "Base64ClusterCA", "DNSClusterIP"):
        assert name not in text
