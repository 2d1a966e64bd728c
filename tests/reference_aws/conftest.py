"""Asks the reference once for all tests of this folder; a test that fails reports logs."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.e2e.controller_logs import (  # noqa: F401  # hooks
    pytest_runtest_makereport,
    pytest_runtest_setup,
)
from tests.reference_aws.questions import question
from tests.reference_aws.reference import Answer, Tree, ask

N_CLASSES = 600


class Judged(NamedTuple):
    """A question, and what the reference answers."""

    seed: int
    question: Tree
    answer: Answer


@pytest.fixture(scope="session")
def judged() -> list[Judged]:
    """Generated node classes with claims, each with the reference's answer."""
    questions = [question(seed) for seed in range(N_CLASSES)]
    answers = ask(questions)
    assert len(answers) == N_CLASSES
    return [Judged(*each) for each in zip(range(N_CLASSES), questions, answers, strict=True)]
