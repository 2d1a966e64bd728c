"""Asks the questions of a request, line by line, and repeats a question whose answer is refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol, TextIO

from dovetail.cli.new.questions import QUESTIONS, RequestQuestion
from dovetail.errors import InputError

if TYPE_CHECKING:
    from dovetail.api.decoding import FieldProblem, Tree

BACK: Final = "<"
_INTRODUCTION: Final = "An empty answer leaves a field out; < goes back to the question before.\n"


class LineReader(Protocol):
    """Something to read lines from; an empty one is the end."""

    def readline(self) -> str:
        """The next line with its line break."""
        ...


def ask(answers_from: LineReader, questions_to: TextIO) -> dict[str, Tree]:
    """The request that the answers make. Raises InputError where they end too early."""
    questions_to.write(_INTRODUCTION)
    conversation = _Conversation(answers_from, questions_to)
    while conversation.is_open:
        conversation.ask_next()
    return request_of(conversation.answers)


def request_of(answers: dict[str, Tree]) -> dict[str, Tree]:
    """A request from answers by path."""
    tree: dict[str, Tree] = {}
    for path, answer in answers.items():
        name, _, inner = path.partition(".")
        outer = tree.get(name)
        if inner:
            tree[name] = {**outer, inner: answer} if isinstance(outer, dict) else {inner: answer}
        else:
            tree[name] = answer
    return tree


class _Conversation:
    """The answers so far, and the question that comes next."""

    def __init__(self, answers_from: LineReader, questions_to: TextIO) -> None:
        self.answers: dict[str, Tree] = {}
        self._answers_from = answers_from
        self._questions_to = questions_to
        self._at = 0
        self._asked: list[int] = []

    @property
    def is_open(self) -> bool:
        """Whether a question is left that applies."""
        while self._at < len(QUESTIONS) and not self._applies(QUESTIONS[self._at]):
            self._at += 1
        return self._at < len(QUESTIONS)

    def ask_next(self) -> None:
        """Ask once, and take the answer if there is nothing wrong with it."""
        question = QUESTIONS[self._at]
        self._questions_to.write(f"{question.text}: ")
        self._questions_to.flush()
        line = self._answers_from.readline()
        if not line:
            msg = f"the answers end at {question.path!r}; nothing was written"
            raise InputError(msg)
        answer = line.strip()
        if answer == BACK:
            self._go_back()
            return
        refusals = self._refusals(question, answer)
        for refusal in refusals:
            self._questions_to.write(f"  {refusal}\n")
        if refusals:
            self.answers.pop(question.path, None)
        else:
            self._asked.append(self._at)
            self._at += 1

    def _go_back(self) -> None:
        if self._asked:
            self._at = self._asked.pop()
            self.answers.pop(QUESTIONS[self._at].path, None)

    def _refusals(self, question: RequestQuestion, answer: str) -> list[str]:
        """What is wrong with the answer; it is among the answers if there is nothing."""
        from dovetail.generator import provider_catalogue

        if not answer:
            catalogue = provider_catalogue(self._provider)
            if question.needs_answer(catalogue.form):
                return ["expected an answer"]
        else:
            try:
                self.answers[question.path] = question.parse(answer)
            except ValueError as error:
                return [str(error)]
        return self._problems(question)

    def _problems(self, question: RequestQuestion) -> list[str]:
        from dovetail.generator.provider import problems_installed

        # Questions that do not apply count as asked.
        asked = {each.path for each in QUESTIONS[: QUESTIONS.index(question) + 1]}
        return [
            str(problem)
            for problem in problems_installed(request_of(self.answers))
            if _is_about(problem, asked)
        ]

    def _applies(self, question: RequestQuestion) -> bool:
        from dovetail.generator import provider_catalogue

        return question.applies(self.answers, provider_catalogue(self._provider).form)

    @property
    def _provider(self) -> str:
        from dovetail.generator.request import DEFAULT_PROVIDER

        return str(self.answers.get("provider", DEFAULT_PROVIDER))


def _is_about(problem: FieldProblem, asked: set[str]) -> bool:
    """Whether all fields of a problem were asked about: others may still be answered."""
    return all(_was_asked(field, asked) for field in problem.field.split(", "))


def _was_asked(field: str, asked: set[str]) -> bool:
    plain = field.partition("[")[0]
    return plain in asked or re.split(r"[.\[]", field)[0] in asked
