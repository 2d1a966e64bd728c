"""dovetail install prints manifests, and nothing else."""

from __future__ import annotations

import pytest
import yaml

from dovetail.cli import main


def test_manifests_are_printed_as_one_stream(capsys: pytest.CaptureFixture[str]) -> None:
    """For kubectl to apply."""
    assert main(["install", "--dry-run", "-n", "scaling", "--image", "here/dovetail:1"]) == 0
    trees = list(yaml.safe_load_all(capsys.readouterr().out))
    assert {"Namespace", "CustomResourceDefinition", "ClusterRole", "Deployment"} <= {
        tree["kind"] for tree in trees
    }
    assert trees[0]["metadata"]["name"] == "scaling"
    assert trees[-1]["spec"]["template"]["spec"]["containers"][0]["image"] == "here/dovetail:1"


def test_without_dry_run_it_says_who_applies(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is applied, and nothing printed that could be taken for a manifest."""
    assert main(["install"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "dovetail install --dry-run | kubectl apply --server-side -f -" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ("-n", "No Name"),
        ("-n", ""),
        ("-n", "x" * 64),
        ("--replicas", "-1"),
        ("--image", "two words"),
        ("--provider", "no such\nthing"),
    ],
)
def test_nonsense_is_refused(words: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """With a message that names the flag."""
    assert main(["install", "--dry-run", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert {"-n": "--namespace"}.get(words[0], words[0]) in said.err


def test_a_shadow_is_printed_with_one_replica(capsys: pytest.CaptureFixture[str]) -> None:
    """However many were asked for: there is no lease to compete for."""
    assert main(["install", "--dry-run", "--shadow", "--replicas", "3"]) == 0
    out = capsys.readouterr().out
    assert "replicas: 1\n" in out
    assert "--dry-run" in out
    assert "CustomResourceDefinition" not in out


def test_who_only_reads_is_no_kubelet(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says so."""
    assert main(["install", "--dry-run", "--shadow", "--kubelets"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "--kubelets: expected without --shadow" in err


def test_settings_of_the_provider_become_variables(capsys: pytest.CaptureFixture[str]) -> None:
    """Beside those of every installation, in order."""
    given = ("--set", "cluster-name=prod", "--set", "vm-memory-overhead-percent=0.05")
    assert main(["install", "--dry-run", "--provider", "aws", *given]) == 0
    *_, deployment = yaml.safe_load_all(capsys.readouterr().out)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    variables = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    assert variables["CLUSTER_NAME"] == "prod"
    assert variables["VM_MEMORY_OVERHEAD_PERCENT"] == "0.05"
    assert [*variables] == sorted(variables)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "cluster-name"), "--set: expected NAME=VALUE"),
        (("--set", "=prod"), "--set: expected NAME=VALUE"),
        (("--set", "clusterName=prod"), "--set clusterName: expected one of ami-refresh-interval"),
        (("--set", "reserved-enis=many"), "--reserved-enis"),
        (("--cloud", "pulumi"), "--cloud: expected one of cloudformation, terraform, json"),
        (("--cloud", "json", "--set", "reserved-enis=1"), "--set reserved-enis: expected one of"),
        (("--cloud", "json"), "--set cluster-name: is missing"),
    ],
    ids=str,
)
def test_settings_that_there_are_not_are_refused(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the names that there are."""
    assert main(["install", "--dry-run", "--provider", "aws", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err


def test_a_template_knows_the_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    """The role is for the service account in it."""
    words = ("--provider", "aws", "--cloud", "cloudformation", "--set", "cluster-name=prod")
    assert main(["install", "--dry-run", "-n", "scaling", *words]) == 0
    template = yaml.safe_load(capsys.readouterr().out)
    properties = template["Resources"]["PodIdentity"]["Properties"]
    assert (properties["Namespace"], properties["ServiceAccount"]) == ("scaling", "dovetail")


def test_a_provider_that_needs_nothing_has_no_template(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says so."""
    assert main(["install", "--dry-run", "--cloud", "json"]) == 2
    assert "--cloud: this provider has no template 'json'" in capsys.readouterr().err
