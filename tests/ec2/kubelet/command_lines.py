"""Command lines as a shell and PowerShell read them, as far as bootstrap calls need it."""

from __future__ import annotations

import re

from tests.ec2.kubelet.join_request import NotJoinedError

_POWERSHELL_QUOTES = "'\u2018\u2019\u201a\u201b"
_NAMED = re.compile(r"[ \t]*-([A-Za-z0-9]+)[ \t]+")
_BLOCK = re.compile(r"<powershell>(.*?)</powershell>", re.DOTALL | re.IGNORECASE)


def shell_commands(script: str) -> list[list[str]]:
    """The words of each command; a word that a shell would expand is refused."""
    reader = _Shell(script)
    return [words for words in reader.commands() if words]


class _Shell:
    def __init__(self, script: str) -> None:
        self._text = script
        self._at = 0

    def commands(self) -> list[list[str]]:
        """Commands end at line ends and semicolons outside quotes."""
        found: list[list[str]] = [[]]
        word: str | None = None
        while self._at < len(self._text):
            character = self._take()
            if character in " \t\n;":
                if word is not None:
                    found[-1].append(word)
                    word = None
                if character in "\n;":
                    found.append([])
            elif character == "#" and word is None:
                self._until("\n", keep_end=True)
            else:
                piece = self._piece(character)
                word = word if piece is None else (word or "") + piece
        if word is not None:
            found[-1].append(word)
        return found

    def _piece(self, character: str) -> str | None:
        """Part of a word; None for a line that goes on."""
        if character == "'":
            return self._until("'")
        if character == '"':
            return self._double_quoted()
        if character == "\\":
            escaped = self._take()
            return None if escaped == "\n" else escaped
        if character in "$`|&<>()*?":
            return f"\0{character}"  # a shell would do something: never equal to what is expected
        return character

    def _double_quoted(self) -> str:
        text = ""
        while (character := self._take()) != '"':
            if character == "\\" and self._text[self._at : self._at + 1] in ('"', "\\", "$", "`"):
                character = self._take()
            elif character in "$`":
                character = f"\0{character}"
            text += character
        return text

    def _until(self, end: str, *, keep_end: bool = False) -> str:
        stop = self._text.find(end, self._at)
        if stop < 0 and not keep_end:
            msg = f"shell: no closing {end}"
            raise NotJoinedError(msg)
        stop = len(self._text) if stop < 0 else stop
        text = self._text[self._at : stop]
        self._at = stop if keep_end else stop + len(end)
        return text

    def _take(self) -> str:
        if self._at >= len(self._text):
            msg = "shell: the script ends within a word"
            raise NotJoinedError(msg)
        self._at += 1
        return self._text[self._at - 1]


def powershell_block(text: str) -> str:
    """What EC2Launch runs: from the first opening tag to the first closing one."""
    block = _BLOCK.search(text)
    if block is None:
        msg = "EC2Launch: no <powershell> block in the user data"
        raise NotJoinedError(msg)
    return block[1]


def powershell_arguments(line: str) -> dict[str, str]:
    """The named arguments of a call up to the end of its line: `-Name 'text'`, nothing else."""
    arguments: dict[str, str] = {}
    at = 0
    while named := _NAMED.match(line, at):
        value, at = _powershell_text(line, named.end())
        arguments[named[1]] = value
    if not re.match(r"[ \t]*(\n|$)", line[at:]):
        msg = f"PowerShell: unexpected {line[at:].strip()[:60]!r}"
        raise NotJoinedError(msg)
    return arguments


def _powershell_text(line: str, start: int) -> tuple[str, int]:
    if line[start : start + 1] not in tuple(_POWERSHELL_QUOTES):
        msg = f"PowerShell: expected quoted text at {line[start : start + 60]!r}"
        raise NotJoinedError(msg)
    text, at = "", start + 1
    while at < len(line):
        if line[at] not in _POWERSHELL_QUOTES:
            text, at = text + line[at], at + 1
        elif line[at + 1 : at + 2] and line[at + 1] in _POWERSHELL_QUOTES:
            text, at = text + line[at], at + 2
        else:
            return text, at + 1
    msg = "PowerShell: text has no end"
    raise NotJoinedError(msg)
