"""MIME archives."""

from __future__ import annotations

from email import message_from_string
from email.message import Message

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.providers.aws.bootstrap.inputs import UserDataError
from dovetail.providers.aws.bootstrap.mime import MimePart, archive, is_archive, parts_of
from tests.unit.providers.aws.bootstrap.cases import ARCHIVE

BODIES = st.text(st.sampled_from("ab-/=\n \té$'\"<"), max_size=60) | st.sampled_from(
    ["--//", "--//\n", "x\n--//--\n", "--//1\n--//2\n--//", "\n", "", "MIME-Version: 1.0\n\n--//"]
)
HEADERS = st.sampled_from(
    ["", "Content-Type: text/x-shellscript", 'X-A: b\nContent-Type: text/plain;\n charset="x"']
)
PARTS = st.lists(st.builds(MimePart, HEADERS, BODIES), max_size=4).map(tuple)


def made(*lines: str) -> str:
    """An archive that is made of these lines."""
    return "\n".join(lines)


TYPE = 'Content-Type: multipart/mixed; boundary="B"'


@given(PARTS)
def test_parts_stay_as_they_were(parts: tuple[MimePart, ...]) -> None:
    """Byte for byte, also where a part has lines that look like boundaries."""
    if parts:
        assert parts_of(archive(parts)) == parts


@given(PARTS)
def test_others_read_the_same_parts(parts: tuple[MimePart, ...]) -> None:
    """Python's own parser, which cloud-init uses, finds them too."""
    message = message_from_string(archive(parts))
    assert message.get_content_type() == "multipart/mixed"
    payload = message.get_payload()
    read = payload if isinstance(payload, list) else []
    assert [one.get_payload() for one in read if isinstance(one, Message)] == [
        part.body for part in parts
    ]


def test_the_boundary_is_two_slashes_unless_a_part_has_such_a_line() -> None:
    """Then it is one that no part has."""
    assert 'boundary="//"\n' in archive([MimePart("", "a--//")])
    assert 'boundary="//1"\n' in archive([MimePart("", "a\n--//")])
    assert 'boundary="//2"\n' in archive([MimePart("", "--//\n--//1")])


def test_an_archive_is_taken_apart() -> None:
    """With its headers. What is before and after the parts is no part."""
    config, node_config = parts_of("\n" + ARCHIVE + "\nepilogue")
    assert config.header == 'Content-Type: text/cloud-config; charset="us-ascii"'
    assert config.body == "#cloud-config\npackage_update: true\n"
    assert node_config.content_type == "application/node.eks.aws"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(made(TYPE, "", "before", "--B", "", "b", "--B--"), ["b"], id="a preamble"),
        pytest.param(made(TYPE, "", "--B \t", "", "b", "--B-- "), ["b"], id="blanks after it"),
        pytest.param(made(TYPE, "", "--B", "", "", "b", "--B--"), ["\nb"], id="an empty line"),
        pytest.param(made(TYPE, "", "--B", "", "--Bx", "--B--"), ["--Bx"], id="a longer word"),
        pytest.param(made(TYPE, "", "--B", "A: b", "--B--"), [""], id="no body"),
        pytest.param(
            made("content-type: MULTIPART/MIXED;", " Boundary=B", "", "--B", "", "b", "--B--"),
            ["b"],
            id="folded and in other case",
        ),
        pytest.param(
            made(
                r'Content-Type: multipart/mixed; boundary="a\"b"', "", '--a"b', "", "c", '--a"b--'
            ),
            ["c"],
            id="a quote in the boundary",
        ),
        pytest.param(
            made("Content-Type: text/x-shellscript", "", "#!/bin/sh"), ["#!/bin/sh"], id="one part"
        ),
    ],
)
def test_archives_are_read_as_they_are_found(text: str, want: list[str]) -> None:
    """As RFC 2046 has it."""
    assert is_archive(text)
    assert [part.body for part in parts_of(text)] == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("MIME-Version: 1.0\n\nx", "no Content-Type", id="no content type"),
        pytest.param(
            made("Content-Type: multipart/mixed", "", "--B"), "no boundary", id="no boundary"
        ),
        pytest.param(
            made('Content-Type: multipart/mixed; boundary=""', ""), "1 to 70", id="empty boundary"
        ),
        pytest.param(
            made(f"Content-Type: multipart/mixed; boundary={'b' * 71}", ""), "1 to 70", id="long"
        ),
        pytest.param(made(TYPE, "", "nothing"), "no part begins", id="no part"),
        pytest.param(made(TYPE, "", "--B", "", "x"), "--B-- is missing", id="no end"),
        pytest.param(made(TYPE, "", "--B", "echo x", "", "--B--"), "'echo x'", id="no header"),
        pytest.param(made(TYPE, "what is this", "", "--B--"), "'what is this'", id="outside"),
        pytest.param("MIME-Version: 1.0", "no Content-Type", id="nothing else"),
    ],
)
def test_malformed_archives_are_refused_with_the_field_and_the_fault(text: str, want: str) -> None:
    """Nobody could read them on the instance."""
    with pytest.raises(UserDataError, match=r"^spec\.userData: malformed MIME archive") as caught:
        parts_of(text)
    assert want in str(caught.value)


@given(
    st.text(st.sampled_from('MIE-Version: 1.0\nContent-Type multipart/mixed; boundary="B--\t\\'))
)
def test_no_text_breaks_the_reader(text: str) -> None:
    """It is read, or refused."""
    hostile = f"Content-Type: multipart/mixed; boundary={text}"
    try:
        parts = parts_of(hostile)
    except UserDataError:
        return
    assert all(isinstance(part, MimePart) for part in parts)


def test_scripts_are_no_archives() -> None:
    """Nor is YAML or TOML."""
    for text in ("#!/bin/sh\nMIME-Version: 1.0", "apiVersion: v1", "[settings]", ""):
        assert not is_archive(text)
