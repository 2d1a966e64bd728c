"""What does a Dockerfile say? Its instructions, stage by stage, as far as ours uses them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Stage:
    """From one FROM to the next."""

    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def said(self, instruction: str) -> list[str]:
        """Every argument of an instruction."""
        return [argument for one, argument in self.steps if one == instruction]

    @property
    def entrypoint(self) -> list[str]:
        """The command, which must be in the form that needs no shell."""
        words = json.loads(self.said("ENTRYPOINT")[-1])
        assert isinstance(words, list)
        return [str(word) for word in words]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that it sets."""
        pairs = [argument.partition("=") for argument in self.said("ENV")]
        return {name: value for name, _, value in pairs}


def stages(path: Path) -> list[Stage]:
    """All stages, in order."""
    found: list[Stage] = []
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        instruction, _, argument = line.strip().partition(" ")
        if instruction == "FROM":
            base, _, name = argument.partition(" AS ")
            found.append(Stage(base, name))
        elif instruction:
            found[-1].steps.append((instruction, argument.strip()))
    return found
