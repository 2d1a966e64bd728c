"""Parses kubeconfig files and merges them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from dovetail import api
from dovetail.errors import InputError
from dovetail.kube import yaml_trees


class _Part(msgspec.Struct, frozen=True, rename="kebab"):
    """Part of a kubeconfig. Unknown fields are passed over."""


class Extension(_Part, frozen=True):
    """Something that a plugin wants to be told."""

    name: str
    extension: msgspec.Raw = msgspec.Raw(b"null")


class KubeconfigCluster(_Part, frozen=True):
    """A server and how it proves itself."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: tuple[Extension, ...] = ()


class Variable(_Part, frozen=True):
    """An environment variable for a plugin."""

    name: str
    value: str = ""


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    """A plugin to run."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(_Part, frozen=True):
    """Who we are."""

    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    exec: Exec | None = None
    act_as: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    username: str = ""
    password: str = ""
    auth_provider: msgspec.Raw = msgspec.Raw(b"null")


class KubeconfigContext(_Part, frozen=True):
    """Whom we speak to as whom."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Part, frozen=True):
    name: str
    cluster: KubeconfigCluster = KubeconfigCluster()


class _NamedUser(_Part, frozen=True):
    name: str
    user: User = User()


class _NamedContext(_Part, frozen=True):
    name: str
    context: KubeconfigContext = KubeconfigContext()


class _File(_Part, frozen=True):
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()
    current_context: str = ""


T = TypeVar("T")


class KubeconfigEntry(msgspec.Struct, Generic[T], frozen=True):
    """A part and where it stands: its file, and its path in it."""

    value: T
    file: str
    field: str

    def at(self, field: str) -> str:
        """Where one of its fields stands, for messages."""
        return f"{self.file}: {self.field}.{field}"

    def path(self, written: str) -> str:
        """A file that it names; relative names start from the kubeconfig's own folder."""
        return str(Path(self.file).parent / Path(written).expanduser())


class Kubeconfig(msgspec.Struct, frozen=True):
    """All files as one: whatever is named twice is as its first file has it."""

    files: tuple[str, ...]
    clusters: dict[str, KubeconfigEntry[KubeconfigCluster]]
    users: dict[str, KubeconfigEntry[User]]
    contexts: dict[str, KubeconfigEntry[KubeconfigContext]]
    current_context: str = ""


def read(paths: Sequence[str], *, may_lack: bool = False) -> Kubeconfig | None:
    """The files as one; with `may_lack` those that are absent are left out. Raises InputError.

    None if there is not one of them.
    """
    files = {path: _file(path) for path in paths if not may_lack or Path(path).exists()}
    if not files:
        return None
    return Kubeconfig(
        files=tuple(files),
        clusters=_entries(
            files, "cluster", lambda file: ((c.name, c.cluster) for c in file.clusters)
        ),
        users=_entries(files, "user", lambda file: ((u.name, u.user) for u in file.users)),
        contexts=_entries(
            files, "context", lambda file: ((c.name, c.context) for c in file.contexts)
        ),
        current_context=next(
            (file.current_context for file in files.values() if file.current_context), ""
        ),
    )


def _entries(
    files: dict[str, _File], kind: str, named: Callable[[_File], Iterable[tuple[str, T]]]
) -> dict[str, KubeconfigEntry[T]]:
    """Clusters, users or contexts by name; whatever is named twice is as its first file has it."""
    result: dict[str, KubeconfigEntry[T]] = {}
    for path, file in files.items():
        for at, (name, value) in enumerate(named(file)):
            result.setdefault(name, KubeconfigEntry(value, path, f"{kind}s[{at}].{kind}"))
    return result


def _file(path: str) -> _File:
    try:
        data = Path(path).read_bytes()
        tree = next((tree for _, tree in yaml_trees.trees(data)), {})
        return api.decode(_File, api.decoding.without_nulls(tree))
    except OSError as error:
        msg = f"{path}: expected a kubeconfig: {error.strerror}"
        raise InputError(msg) from error
    except yaml_trees.YamlError as error:
        msg = f"{path}: expected a kubeconfig: {error.message}"
        raise InputError(msg) from None
    except api.DecodeError as error:
        msg = f"{path}: {error}"
        raise InputError(msg) from None
