"""Protocol buffers, as kubectl writes them: read, or refused whatever they are."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.apiserver.http.protobuf import ProtobufError, object_of


def sized(number: int, data: bytes) -> bytes:
    """A field that says how long it is; short ones only."""
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


def enveloped(version: str, kind: str, message: bytes) -> bytes:
    """A message as it travels."""
    what = sized(1, version.encode()) + sized(2, kind.encode())
    return b"k8s\x00" + sized(1, what) + sized(2, message)


def test_names_texts_and_maps_are_read() -> None:
    """By the numbers of their fields; what is empty was never said."""
    metadata = sized(1, b"settings") + sized(3, b"") + sized(11, sized(1, b"team") + sized(2, b"a"))
    message = sized(1, metadata) + sized(2, sized(1, b"colour") + sized(2, b"blue"))
    assert object_of(enveloped("v1", "ConfigMap", message)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "labels": {"team": "a"}},
        "data": {"colour": "blue"},
    }


def test_zero_replicas_are_not_none() -> None:
    """Where nothing said means something else, zero is kept."""
    spec = sized(2, b"\x08\x00")
    found = object_of(enveloped("apps/v1", "Deployment", spec))
    assert found["spec"] == {"replicas": 0}


def test_amounts_shares_and_bytes_are_read_as_json_has_them() -> None:
    """Quantities and shares as texts or numbers, bytes in base 64."""
    hard = sized(1, sized(1, b"pods") + sized(2, sized(1, b"2")))
    quota = object_of(enveloped("v1", "ResourceQuota", sized(2, hard)))
    assert quota["spec"] == {"hard": {"pods": "2"}}
    share = sized(1, b"\x08\x01\x10\x00" + sized(3, b"50%"))
    budget = object_of(enveloped("policy/v1", "PodDisruptionBudget", sized(2, share)))
    assert budget["spec"] == {"minAvailable": "50%"}
    secret = object_of(enveloped("v1", "Secret", sized(2, sized(1, b"a") + sized(2, b"b"))))
    assert secret["data"] == {"a": "Yg=="}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{}", id="JSON"),
        pytest.param(enveloped("v1", "Wonder", b""), id="no such kind"),
        pytest.param(enveloped("v1", "Pod", b"\x0a\x7f"), id="cut off"),
        pytest.param(enveloped("v1", "Pod", b"\x0b"), id="no such wire type"),
        pytest.param(enveloped("v1", "Pod", b"\x0a" + b"\xff" * 12), id="an endless number"),
        pytest.param(enveloped("v1", "Pod", b"\x08\x01"), id="a number for a message"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes) -> None:
    """With one kind of error."""
    with pytest.raises(ProtobufError):
        object_of(data)


@given(st.binary(max_size=60))
def test_no_bytes_do_harm(noise: bytes) -> None:
    """They are an object or a ValueError, nothing else."""
    with suppress(ValueError):
        assert object_of(enveloped("v1", "Pod", noise))["kind"] == "Pod"
