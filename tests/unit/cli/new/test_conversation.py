"""Questions for a NodePool on a terminal: what each asks, and which answers it refuses."""

from __future__ import annotations

import io
from typing import Any

import pytest

from dovetail.cli.new.conversation import ask
from dovetail.cli.new.questions import QUESTIONS
from dovetail.errors import InputError
from dovetail.generator.provider import generate_installed
from dovetail.generator.request import NodePoolRequest
from tests.unit.generator.requests import text_of

NEEDED = {"name": "payments", "cpu": "64", "nodeClass.name": "default"}
NEW_CLASS = {"name": "payments", "cpu": "64", "nodeClass.role": "r", "nodeClass.cluster": "web"}
KWOK = {"name": "trial", "provider": "kwok", "cpu": "8", "nodeClass.name": "a"}
ANSWERS = [
    pytest.param("name", "orders", "name", "orders", NEEDED, id="name"),
    pytest.param("provider", "aws", "provider", "aws", NEEDED, id="provider"),
    pytest.param("cpu", "96", "cpu", "96", NEEDED, id="cpu"),
    pytest.param("memory", "256Gi", "memory", "256Gi", NEEDED, id="memory"),
    pytest.param("gpus", "8", "gpus", 8, NEEDED, id="gpus"),
    pytest.param("families", "m7g, c7g", "families", ["m7g", "c7g"], NEEDED, id="families"),
    pytest.param("architectures", "arm64", "architectures", ["arm64"], NEEDED, id="architecture"),
    pytest.param("cpuPerNode", "2-32", "cpuPerNode", {"min": "2", "max": "32"}, NEEDED, id="range"),
    pytest.param("cpuPerNode", "4-", "cpuPerNode", {"min": "4"}, NEEDED, id="from"),
    pytest.param("cpuPerNode", "-16", "cpuPerNode", {"max": "16"}, NEEDED, id="up to"),
    pytest.param(
        "memoryPerNode",
        "8Gi - 128Gi",
        "memoryPerNode",
        {"min": "8Gi", "max": "128Gi"},
        NEEDED,
        id="memory of a node",
    ),
    pytest.param("spot", "allowed", "spot", "allowed", NEEDED, id="spot"),
    pytest.param("zones", "us-west-2a", "zones", ["us-west-2a"], NEEDED, id="zones"),
    pytest.param("labels", "a=b, c=d", "labels", {"a": "b", "c": "d"}, NEEDED, id="labels"),
    pytest.param(
        "taints",
        "a=b:NoSchedule, c:NoExecute",
        "taints",
        [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "c", "effect": "NoExecute"}],
        NEEDED,
        id="taints",
    ),
    pytest.param(
        "quietHours",
        "mon,wed 08:00-18:00; 22:00-06:00",
        "quietHours",
        ["mon,wed 08:00-18:00", "22:00-06:00"],
        NEEDED,
        id="quiet hours",
    ),
    pytest.param("nodeClass.name", "x", "nodeClass", {"name": "x"}, NEEDED, id="node class"),
    pytest.param(
        "nodeClass.role", "s", "nodeClass", {"role": "s", "cluster": "web"}, NEW_CLASS, id="role"
    ),
    pytest.param(
        "nodeClass.cluster", "c", "nodeClass", {"role": "r", "cluster": "c"}, NEW_CLASS, id="tag"
    ),
    pytest.param(
        "nodeClass.image",
        "al2023@v20260101",
        "nodeClass",
        {"role": "r", "cluster": "web", "image": "al2023@v20260101"},
        NEW_CLASS,
        id="image",
    ),
    pytest.param(
        "nodeClass.disk",
        "100Gi",
        "nodeClass",
        {"role": "r", "cluster": "web", "disk": "100Gi"},
        NEW_CLASS,
        id="disk",
    ),
]
REFUSED = [
    pytest.param("name", "Pay", "name: 'Pay' does not fit", NEEDED, id="odd name"),
    pytest.param("name", "", "expected an answer", NEEDED, id="no name"),
    pytest.param("provider", "cloudy", "provider: 'cloudy' generates no", NEEDED, id="provider"),
    pytest.param("cpu", "-4", "cpu: -4 is negative", NEEDED, id="negative cpu"),
    pytest.param("cpu", "many", "is not a quantity", NEEDED, id="no amount"),
    pytest.param("memory", "0", "memory: 0 allows no node", NEEDED, id="no memory"),
    pytest.param("gpus", "few", "gpus: found text; expected a whole number", NEEDED, id="gpus"),
    pytest.param("gpus", "0", "gpus: 0 is too small", NEEDED, id="zero gpus"),
    pytest.param("families", "m77", "'m77' is no instance family", NEEDED, id="family"),
    pytest.param("families", "m7g,m7g", "twice", NEEDED, id="family twice"),
    pytest.param("families", "g5", "gpus: is missing, and g5 has GPUs", NEEDED, id="gpu family"),
    pytest.param("architectures", "x86", "expected one of amd64, arm64", NEEDED, id="architecture"),
    pytest.param("cpuPerNode", "32-2", "min 32 is above max 2", NEEDED, id="min above max"),
    pytest.param("cpuPerNode", "many", "expected MIN-MAX, MIN- or -MAX", NEEDED, id="no range"),
    pytest.param("cpuPerNode", "3-3", "no instance type", NEEDED, id="no such node"),
    pytest.param("memoryPerNode", "8Gi-4Gi", "min 8Gi is above", NEEDED, id="memory of a node"),
    pytest.param("spot", "maybe", "expected one of never, allowed, only", NEEDED, id="spot"),
    pytest.param("zones", "us-west-2a,us-west-2a", "zones[1]", NEEDED, id="zone twice"),
    pytest.param("zones", "a", "is no zone of provider aws", NEEDED, id="zone"),
    pytest.param("labels", "team", "expected KEY=VALUE", NEEDED, id="half a label"),
    pytest.param("labels", "a=b c", "labels.a", NEEDED, id="label value"),
    pytest.param("taints", "a", "taints[0].effect: is missing", NEEDED, id="taint"),
    pytest.param("quietHours", "nights", "expected days and hours", NEEDED, id="hours"),
    pytest.param("quietHours", "00:00-24:00", "the whole week", NEEDED, id="always"),
    pytest.param("nodeClass.name", "A", "nodeClass.name: 'A' does not fit", NEEDED, id="class"),
    pytest.param("nodeClass.role", "", "expected an answer", NEW_CLASS, id="no role"),
    pytest.param("nodeClass.cluster", "", "expected an answer", NEW_CLASS, id="no tag"),
    pytest.param("nodeClass.image", "al9", "family@version", NEW_CLASS, id="image"),
    pytest.param("nodeClass.disk", "100", "1Gi to", NEW_CLASS, id="disk"),
]
PROMPTS = {question.text: question.path for question in QUESTIONS}


class Person:
    """Someone who reads each question and answers it; answers are lists, used one after another.
    After sixty questions the person leaves.
    """

    def __init__(self, answers: dict[str, list[str]]) -> None:
        self.screen = io.StringIO()
        self.asked: list[str] = []
        self._answers = {path: list(given) for path, given in answers.items()}

    def readline(self) -> str:
        """The answer to the question that stands last on the screen."""
        if len(self.asked) == 60:
            return ""
        [prompt] = [text for text in PROMPTS if self.screen.getvalue().endswith(f"{text}: ")]
        path = PROMPTS[prompt]
        self.asked.append(path)
        given = self._answers.get(path, [])
        return f"{given.pop(0) if given else ''}\n"


def told(answers: dict[str, str], **others: list[str]) -> tuple[dict[str, Any], Person]:
    """The request that a person's answers make. Names of others have _ for a dot."""
    lists = {path: [answer] for path, answer in answers.items()}
    person = Person(lists | {path.replace("_", "."): given for path, given in others.items()})
    return ask(person, person.screen), person


def test_answers_make_the_request_of_a_file() -> None:
    """And come to the same bytes."""
    request, _ = told(NEEDED | {"families": "m7g"})
    file = {"name": "payments", "cpu": 64, "families": ["m7g"], "nodeClass": {"name": "default"}}
    assert generate_installed(request).text == text_of(file)


def test_every_field_but_weight_is_asked_about() -> None:
    """Weight is for those who know other pools; it has a flag."""
    asked = {question.path.partition(".")[0] for question in QUESTIONS}
    fields = set(NodePoolRequest.__struct_encode_fields__)
    assert fields - asked == {"weight"}
    assert asked <= fields


@pytest.mark.parametrize(("path", "answer", "field", "want", "others"), ANSWERS)
def test_an_answer_is_a_field_of_the_request(
    path: str, answer: str, field: str, want: object, others: dict[str, str]
) -> None:
    """Read as flags are; what it makes is generated."""
    changed = {key: value for key, value in others.items() if (key, path) != ("cpu", "gpus")}
    request, person = told(changed | {path: answer})
    assert request[field] == want
    assert path in person.asked
    generate_installed(request)


def test_every_question_is_answered_in_these_tests() -> None:
    """And refuses something."""
    paths = {question.path for question in QUESTIONS}
    assert {case.values[0] for case in ANSWERS} == paths
    assert {case.values[0] for case in REFUSED} == paths


@pytest.mark.parametrize(("path", "answer", "message", "others"), REFUSED)
def test_a_refused_answer_is_asked_for_again(
    path: str, answer: str, message: str, others: dict[str, str]
) -> None:
    """With what was expected; the next answer counts."""
    want, _ = told(others)
    second = others.get(path, "")
    request, person = told(
        {key: value for key, value in others.items() if key != path},
        **{path.replace(".", "_"): [answer, second]},
    )
    assert request == want
    assert message in person.screen.getvalue()
    assert person.asked.count(path) == 2


def test_a_request_for_nothing_is_refused_at_the_last_total() -> None:
    """Before, another total may still be stated; going back leads there."""
    without = {key: value for key, value in NEEDED.items() if key != "cpu"}
    request, person = told(without, gpus=["", "<", ""], memory=["", "8Gi"])
    assert request["memory"] == "8Gi"
    assert person.screen.getvalue().count("nothing is requested") == 1


def test_going_back_forgets_the_answer_before() -> None:
    """At the first question it asks that again."""
    request, person = told(
        {"nodeClass.name": "a"}, name=["<", "one", "two"], provider=["<", ""], cpu=["8"]
    )
    assert request == {"name": "two", "cpu": "8", "nodeClass": {"name": "a"}}
    assert person.asked[:5] == ["name", "name", "provider", "name", "provider"]


@pytest.mark.parametrize(
    ("answers", "unasked"),
    [
        pytest.param(
            NEEDED,
            {"nodeClass.role", "nodeClass.cluster", "nodeClass.image", "nodeClass.disk"},
            id="an existing node class has no settings",
        ),
        pytest.param(NEW_CLASS, set(), id="a new one has"),
        pytest.param(
            KWOK,
            {
                "gpus",
                "memoryPerNode",
                "nodeClass.role",
                "nodeClass.cluster",
                "nodeClass.image",
                "nodeClass.disk",
            },
            id="what the provider does not have",
        ),
        pytest.param(
            NEW_CLASS | {"families": "m7g"}, {"architectures"}, id="families have architectures"
        ),
    ],
)
def test_what_does_not_apply_is_not_asked(answers: dict[str, str], unasked: set[str]) -> None:
    """All else is, in order and once."""
    _, person = told(answers)
    assert person.asked == [q.path for q in QUESTIONS if q.path not in unasked]


def test_answers_that_end_too_early_are_an_error() -> None:
    """As when a terminal is closed."""
    screen = io.StringIO()
    with pytest.raises(InputError, match="the answers end at 'provider'; nothing was written"):
        ask(io.StringIO("payments\n"), screen)
