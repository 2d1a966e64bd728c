"""The stand-in reads command lines as a shell does, and refuses what it does not understand."""

from __future__ import annotations

import subprocess

import pytest

from tests.ec2.kubelet.command_lines import powershell_arguments, shell_commands
from tests.ec2.kubelet.join_request import NotJoinedError


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("a 'b c' \"d e\"", id="quotes"),
        pytest.param("'a'\"'\"'b'", id="a quote in quotes"),
        pytest.param("a \\\n  b", id="a line that goes on"),
        pytest.param("'a\\\nb'", id="no line goes on in quotes"),
        pytest.param('"a\\"b\\\\c\\$d\\e"', id="escapes in double quotes"),
        pytest.param("a\\ b a\\'b ''", id="escapes outside, and an empty word"),
        pytest.param("a#b # comment", id="a comment"),
    ],
)
def test_words_are_those_of_bash(words: str) -> None:
    """bash is asked itself."""
    script = f"printf '%s\\0' {words}\n"
    run = subprocess.run(["/bin/bash"], input=script, capture_output=True, text=True, check=True)
    (command,) = shell_commands(f"printf {words}\n")
    assert command[1:] == run.stdout.split("\0")[:-1]


@pytest.mark.parametrize("words", ["$(b)", "`b`", '"$b"', "a|b", "a>b", "*"], ids=repr)
def test_what_a_shell_would_expand_is_not_taken_for_text(words: str) -> None:
    """The word is another than the one that is written there."""
    ((word,),) = shell_commands(words)
    assert "\0" in word


@pytest.mark.parametrize("script", ["'a", '"a', "a\\"], ids=repr)
def test_a_script_that_ends_within_a_word_is_refused(script: str) -> None:
    """bash would not run it."""
    with pytest.raises(NotJoinedError, match=r"^shell: "):
        shell_commands(script)


def test_arguments_of_powershell_end_with_their_line() -> None:
    """Doubled quotes stand for one, and text may go over lines."""
    assert powershell_arguments("-A 'b''c' -D 'e\nf'\nOther") == {"A": "b'c", "D": "e\nf"}


@pytest.mark.parametrize(
    "line", ["-A b", '-A "b"', "-A 'b", "-A 'b' c", "-A 'b'; reboot"], ids=repr
)
def test_other_arguments_of_powershell_are_refused(line: str) -> None:
    """They might be expanded, or be another command."""
    with pytest.raises(NotJoinedError, match=r"^PowerShell: "):
        powershell_arguments(line)
