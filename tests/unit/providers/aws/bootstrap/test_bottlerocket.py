"""User data of Bottlerocket. Its whole text is in the golden files."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from dovetail.providers.aws.bootstrap.bottlerocket import bottlerocket, ignored_settings
from dovetail.providers.aws.bootstrap.inputs import UserDataError
from dovetail.providers.aws.node_class.types import AMISelectorTerm
from tests.unit.providers.aws.bootstrap.cases import KUBELET, RAID0, TOML, inputs

NAME = "bottlerocket-aws-k8s-1.35-x86_64-v{}-8a2b1c3d"
DIRECTORIES = ["--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"]


def settings(**changes: Any) -> dict[str, Any]:
    """The settings that an instance reads."""
    tree: dict[str, Any] = tomllib.loads(bottlerocket(inputs(**changes)))["settings"]
    return tree


def test_settings_of_the_user_are_kept_where_they_are_not_ours() -> None:
    """Ours win; labels are merged, taints are not; unknown settings of Kubernetes are dropped."""
    got = settings(custom=TOML)
    assert got["host-containers"] == {"admin": {"enabled": True}}
    kubernetes = got["kubernetes"]
    assert kubernetes["registry-qps"] == 20
    assert kubernetes["api-server"] == inputs().cluster_endpoint
    assert kubernetes["node-labels"]["karpenter.sh/nodepool"] == "default"
    assert "gone" not in kubernetes["node-taints"]
    assert "made-up" not in kubernetes


def test_what_is_dropped_can_be_named_in_a_warning() -> None:
    """So that nobody wonders."""
    text = f"{TOML}\n[other]\na = 1\n"
    assert ignored_settings(text) == ("other", "settings.kubernetes.made-up")
    assert ignored_settings(None) == ()


def test_a_label_of_the_user_is_kept() -> None:
    """Where the claim has none of that name."""
    got = settings(custom=TOML, labels={})
    assert got["kubernetes"]["node-labels"]["team"] == "blue"


def test_settings_of_the_user_for_kubelet_hold_where_the_class_has_none() -> None:
    """A class that has some replaces the whole map."""
    custom = '[settings.kubernetes.kube-reserved]\ncpu = "1"\ngpu = "2"\n'
    assert settings(custom=custom)["kubernetes"]["kube-reserved"] == {"cpu": "1", "gpu": "2"}
    got = settings(custom=custom, kubelet=KUBELET)["kubernetes"]["kube-reserved"]
    assert got == {"cpu": "200m", "memory": "300Mi", "pid": "1000"}


@pytest.mark.parametrize(
    ("terms", "names", "is_new"),
    [
        pytest.param(["bottlerocket@latest"], [], True, id="the latest"),
        pytest.param(["bottlerocket@v1.46.0"], [], True, id="the first that knows"),
        pytest.param(["bottlerocket@1.46.0"], [], True, id="without the letter"),
        pytest.param(["bottlerocket@2.0.0"], [], True, id="a higher major"),
        pytest.param(["bottlerocket@v1.45.9"], [NAME.format("1.50.0")], False, id="alias first"),
        pytest.param([], [NAME.format("1.50.0")], True, id="by the image's name"),
        pytest.param([], [NAME.format("1.9.0")], False, id="numbers are compared as such"),
        pytest.param([], [NAME.format("1.50.0"), NAME.format("1.2.0")], False, id="one is old"),
        pytest.param([], ["my-image"], False, id="a name that says nothing"),
        pytest.param([], [], False, id="nothing is known"),
    ],
)
def test_directories_are_named_unless_the_image_knows_them(
    terms: list[str], names: list[str], *, is_new: bool
) -> None:
    """From 1.46.0 on it does."""
    got = settings(
        instance_store_policy=RAID0,
        ami_selector_terms=tuple(AMISelectorTerm(alias=alias) for alias in terms),
        image_names=tuple(names),
    )
    command = got["bootstrap-commands"]["000-mount-instance-storage"]
    storage = ["apiclient", "ephemeral-storage"]
    bind = [*storage, "bind", *([] if is_new else DIRECTORIES)]
    assert command["commands"] == [[*storage, "init"], bind]


def test_the_version_may_be_in_the_name_term() -> None:
    """It comes before the names of images."""
    by_name = AMISelectorTerm(name=NAME.format("1.46.0"))
    got = settings(
        instance_store_policy=RAID0, ami_selector_terms=(by_name,), image_names=("my-image",)
    )
    assert "--dirs" not in got["bootstrap-commands"]["000-mount-instance-storage"]["commands"][1]


def test_bootstrap_commands_of_the_user_are_kept() -> None:
    """But the one of our name is ours."""
    custom = (
        "[settings.bootstrap-commands.b]\ncommands = []\n"
        "[settings.bootstrap-commands.000-mount-instance-storage]\ncommands = []\n"
    )
    commands = settings(custom=custom, instance_store_policy=RAID0)["bootstrap-commands"]
    assert commands["b"] == {"commands": []}
    assert commands["000-mount-instance-storage"]["essential"] is True


@pytest.mark.parametrize(
    ("custom", "want"),
    [
        pytest.param("[settings", "malformed TOML", id="no TOML"),
        pytest.param("#!/bin/sh\nreboot", "malformed TOML", id="a script"),
        pytest.param("a = " + "[" * 5000, "malformed TOML", id="endless nesting"),
        pytest.param("a = " + "9" * 5000, "malformed TOML", id="an endless number"),
        pytest.param("settings = 1", "settings is not a table", id="settings are no table"),
        pytest.param("[settings]\nkubernetes = 1", "settings.kubernetes is not", id="kubernetes"),
        pytest.param(
            "[settings.kubernetes]\nnode-labels = []", "kubernetes.node-labels is", id="labels"
        ),
    ],
)
def test_user_data_that_is_no_toml_of_settings_is_refused(custom: str, want: str) -> None:
    """The instance would not boot with it."""
    with pytest.raises(UserDataError, match=r"^spec\.userData: ") as caught:
        bottlerocket(inputs(custom=custom))
    assert want in str(caught.value)
