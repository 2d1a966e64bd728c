"""Kubeconfigs as people have them, and as they should not be."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from dovetail.errors import InputError
from dovetail.kube.http import in_cluster, kubeconfig
from dovetail.kube.http.credentials import Material, StoredIdentity
from dovetail.kube.http.plugin import Access, Plugin

CERTIFICATE = base64.b64encode(b"PEM").decode()
PLAIN = """
apiVersion: v1
kind: Config
preferences: {}
current-context: here
clusters:
- name: one
  cluster: {server: "https://api.test:6443/", tls-server-name: kubernetes, extensions: null}
users:
- name: me
  user: {token: secret}
contexts:
- name: here
  context: {cluster: one, user: me, namespace: shop}
"""


def written(folder: Path, text: str, name: str = "config") -> str:
    """A kubeconfig on disk."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def loaded(folder: Path, text: str, context: str = "") -> Access:
    """What a kubeconfig says."""
    return kubeconfig.load({}, path=written(folder, text), context=context)


def user(text: str) -> str:
    """A kubeconfig with another user."""
    return PLAIN.replace("{token: secret}", text)


def cluster(text: str) -> str:
    """A kubeconfig with more about its cluster."""
    return PLAIN.replace("tls-server-name: kubernetes", text)


def test_a_context_names_server_user_and_namespace(tmp_path: Path) -> None:
    """Nulls are nothing, as for kubectl."""
    found = loaded(tmp_path, PLAIN)
    assert (found.server, found.namespace) == ("https://api.test:6443", "shop")
    assert found.trust.server_name == "kubernetes"
    assert isinstance(found.identity, StoredIdentity)
    assert found.identity.read().token == "secret"  # noqa: S105  made up for this test


def test_several_files_are_one_and_the_first_to_name_something_wins(tmp_path: Path) -> None:
    """Relative paths start from the file that has them; absent files are left out."""
    first = written(tmp_path, "current-context: there\nusers: [{name: me, user: {token: a}}]", "a")
    second = written(
        tmp_path,
        PLAIN.replace("name: here", "name: there").replace(
            "{token: secret}", "{tokenFile: never-read}"
        )
        + "- name: files\n  context: {cluster: one, user: other}\n",
        "sub/b",
    )
    third = written(tmp_path, "users: [{name: other, user: {tokenFile: t}}]", "sub/c")
    (tmp_path / "sub" / "t").write_text("from file")
    listed = {"KUBECONFIG": f"{first}:{tmp_path}/absent:{second}:{third}:"}
    merged, files = kubeconfig.load(listed), kubeconfig.load(listed, context="files")
    assert isinstance(merged.identity, StoredIdentity)
    assert isinstance(files.identity, StoredIdentity)
    assert merged.identity.read().token == "a"  # noqa: S105  made up for this test
    assert files.identity.token.path == str(tmp_path / "sub" / "t")


def test_certificates_come_from_data_or_files(tmp_path: Path) -> None:
    """Data comes first where both are given."""
    (tmp_path / "ca").write_bytes(b"CA")
    text = cluster("certificate-authority: ca").replace(
        "{token: secret}",
        f"{{client-certificate-data: {CERTIFICATE}, client-certificate: x, client-key: key}}",
    )
    found = loaded(tmp_path, text)
    assert isinstance(found.identity, StoredIdentity)
    assert found.trust.authority == b"CA"
    assert found.identity.certificate.data == b"PEM"
    assert found.identity.key.path == str(tmp_path / "key")


def test_a_plugin_is_taken_with_all_it_needs(tmp_path: Path) -> None:
    """Its cluster too, if it asks for it."""
    text = user("""
      exec:
        apiVersion: client.authentication.k8s.io/v1beta1
        command: ./bin/aws
        args: [eks, get-token]
        env: [{name: AWS_PROFILE, value: dev}]
        provideClusterInfo: true
        interactiveMode: IfAvailable
        installHint: "install it"
    """).replace(
        "extensions: null",
        "extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]",
    )
    found = loaded(tmp_path, text).identity
    assert found == Plugin(
        str(tmp_path / "bin" / "aws"),
        ("eks", "get-token"),
        {"AWS_PROFILE": "dev"},
        "client.authentication.k8s.io/v1beta1",
        {
            "server": "https://api.test:6443/",
            "tls-server-name": "kubernetes",
            "config": {"audience": "x"},
        },
        "install it",
        f"{tmp_path}/config: users[0].user.exec",
    )


def test_whom_we_act_for_is_in_the_headers(tmp_path: Path) -> None:
    """As kubectl does with `as`."""
    text = user(
        "{token: t, as: jane, as-uid: u, as-groups: [a, b], as-user-extra: {a.test/why: [x]}}"
    )
    assert loaded(tmp_path, text).headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "u"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-a.test%2Fwhy", "x"),
    )


EXEC = "exec: {command: aws, apiVersion: client.authentication.k8s.io/v1"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", "current-context: expected the name of a context", id="empty"),
        pytest.param(
            PLAIN.replace("current-context: here", "current-context: gone"),
            "current-context: 'gone' is not there; expected one of: here",
            id="no such context",
        ),
        pytest.param(
            PLAIN.replace("cluster: one,", "cluster: two,"),
            r"contexts\[0\].context.cluster: 'two' is not there; expected one of: one",
            id="no such cluster",
        ),
        pytest.param(
            PLAIN.replace("user: me,", "user: you,"),
            r"contexts\[0\].context.user: 'you' is not there; expected one of: me",
            id="no such user",
        ),
        pytest.param(
            PLAIN.replace("https://api.test:6443/", "api.test"),
            r"clusters\[0\].cluster.server: expected a URL .* not 'api.test'",
            id="a server without a scheme",
        ),
        pytest.param(
            cluster("certificate-authority-data: '%%'"),
            r"clusters\[0\].cluster.certificate-authority-data: expected base64",
            id="not base64",
        ),
        pytest.param(
            cluster("certificate-authority: gone"),
            r"clusters\[0\].cluster.certificate-authority: expected a readable file at .*gone",
            id="no such authority",
        ),
        pytest.param(
            cluster(f"insecure-skip-tls-verify: true, certificate-authority-data: {CERTIFICATE}"),
            "insecure-skip-tls-verify: expected either this or a certificate authority",
            id="insecure with an authority",
        ),
        pytest.param(
            cluster("proxy-url: 'socks5://x'"),
            r"clusters\[0\].cluster.proxy-url: expected an http or https proxy",
            id="another proxy",
        ),
        pytest.param(
            user("{username: me, password: x}"),
            r"users\[0\].user.username: expected a token",
            id="a password",
        ),
        pytest.param(
            user("{auth-provider: {name: gcp}}"),
            r"users\[0\].user.auth-provider: expected exec",
            id="an auth provider",
        ),
        pytest.param(
            user("{client-certificate: x}"),
            "client-certificate: expected client-certificate and client-key together",
            id="a certificate without its key",
        ),
        pytest.param(
            user("{token: [1]}"), r"users\[0\]\.user\.token: expected `str`", id="a list of tokens"
        ),
        pytest.param(
            user(f"{{{EXEC}alpha1}}}}"),
            r"users\[0\].user.exec.apiVersion: expected client.authentication.k8s.io/v1 or",
            id="an old plugin",
        ),
        pytest.param(
            user(f"{{{EXEC}, interactiveMode: Always}}}}"),
            "exec.interactiveMode: expected Never or IfAvailable",
            id="a plugin that wants a terminal",
        ),
        pytest.param(
            user("{exec: {apiVersion: client.authentication.k8s.io/v1}}"),
            "exec.command: expected a program",
            id="no program",
        ),
        pytest.param(
            user('{token: t, as: "a\\nb"}'), "user.as: expected users and groups in one", id="break"
        ),
        pytest.param(
            PLAIN.replace("api.test:6443", "api.test:http"),
            r"clusters\[0\].cluster.server: expected a URL",
            id="a port that is no number",
        ),
        pytest.param(
            user("{token: t, as-groups: [a]}"), "user.as: expected a user to act as", id="groups"
        ),
        pytest.param("a: [", "expected a kubeconfig: .*malformed YAML", id="no YAML"),
        pytest.param("- 1", "expected `object`, got `array`", id="a list"),
    ],
)
def test_a_bad_kubeconfig_is_told_with_file_and_field(tmp_path: Path, text: str, want: str) -> None:
    """So that it can be put right."""
    with pytest.raises(InputError, match=want) as raised:
        loaded(tmp_path, text)
    assert str(raised.value).startswith(str(tmp_path / "config"))


def test_a_file_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    """By flag, by environment, or not at all."""
    gone = str(tmp_path / "gone")
    with pytest.raises(InputError, match="gone: expected a kubeconfig: No such file"):
        kubeconfig.load({}, path=gone)
    with pytest.raises(InputError, match=r"KUBECONFIG: expected a kubeconfig at .*gone"):
        kubeconfig.load({"KUBECONFIG": gone})
    with pytest.raises(InputError, match="no cluster is named; expected --kubeconfig"):
        kubeconfig.load({"HOME": gone})


def test_without_a_word_the_home_folder_is_looked_into(tmp_path: Path) -> None:
    """And the environment's proxy holds."""
    written(tmp_path, PLAIN, ".kube/config")
    found = kubeconfig.load({"HOME": str(tmp_path), "HTTPS_PROXY": "http://proxy.test:1"})
    assert (found.server, found.proxy) == ("https://api.test:6443", "http://proxy.test:1")


def test_a_pod_reaches_its_own_cluster(tmp_path: Path) -> None:
    """By its service account, whose token is a file to be read again."""
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    mount = str(tmp_path)
    assert not in_cluster.is_in_cluster(environment, mount)
    for name, text in (("token", "t"), ("ca.crt", "CA"), ("namespace", "karpenter\n")):
        (tmp_path / name).write_text(text)
    assert in_cluster.is_in_cluster(environment, mount)
    found = in_cluster.access(environment, mount)
    assert (found.server, found.namespace) == ("https://[fd00::1]:6443", "karpenter")
    assert found.trust.authority == b"CA"
    token = Material(path=f"{mount}/token", field=f"service account in {mount}: token")
    assert found.identity == StoredIdentity(token)


def test_outside_of_a_pod_there_is_no_service_account(tmp_path: Path) -> None:
    """And that is said."""
    with pytest.raises(InputError, match="KUBERNETES_SERVICE_HOST is not set"):
        in_cluster.access({}, str(tmp_path))
