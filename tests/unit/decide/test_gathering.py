from __future__ import annotations

import pytest

from dovetail.decide.reasons import Gathering
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.requirements import requirement
from dovetail.model.topology import NOTHING, LabelSelector, PodTerm, equality

DB = Pod("db", "shop", PodSpec({}), labels={"app": "db", "tier": "back"})
WEB = Pod("web", "shop", PodSpec({}), labels={"app": "web", "tier": "front"})


def term(selector: LabelSelector, **fields: object) -> PodTerm:
    """An affinity over zones."""
    return PodTerm("zone", selector, **fields)  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(term(equality({"app": "db"})), False, id="they run"),
        pytest.param(term(equality({"app": "cache"})), True, id="they do not"),
        pytest.param(term(NOTHING), True, id="nobody can be meant"),
        pytest.param(term(LabelSelector()), False, id="anybody will do"),
        pytest.param(
            term(LabelSelector((requirement("app", "Exists"),))), False, id="any value will do"
        ),
        pytest.param(
            term(LabelSelector((requirement("app", "NotIn", ["web"]),))), False, id="uncertain"
        ),
        pytest.param(
            term(equality({"app": "db"}), namespaces=("other",)), True, id="they run elsewhere"
        ),
        pytest.param(
            term(equality({"app": "db"}), namespace_selector=LabelSelector()),
            False,
            id="they may run anywhere",
        ),
        pytest.param(
            term(equality({"app": "web"}), namespaces=("other",)),
            True,
            id="its own kind, but in another namespace",
        ),
        pytest.param(
            term(equality({"app": "db"}), match_label_keys=("tier",)),
            True,
            id="no pod with the label that it shares",
        ),
    ],
)
def test_a_term_is_lonely_if_nobody_can_satisfy_it(
    asked: PodTerm,
    want: bool,  # noqa: FBT001  a table column
) -> None:
    """Only what is certain counts."""
    pod = Pod("new", "shop", PodSpec({}, affinity=(asked,)), labels=WEB.labels)
    seen = (DB,) if asked.match_label_keys else (DB, WEB)
    assert Gathering(seen).lonely_terms(pod) == (frozenset({0}) if want else frozenset())


def test_where_nothing_is_known_nobody_is_alone() -> None:
    """Without a list of pods no claim is made about them."""
    pod = Pod("new", "shop", PodSpec({}, affinity=(term(NOTHING),)))
    assert Gathering(None).lonely_terms(pod) == frozenset()


def test_labels_are_read_once_for_many_terms() -> None:
    """The pods may come from a generator."""
    gathering = Gathering(iter((DB,)))
    pod = Pod("new", "shop", PodSpec({}, affinity=(term(equality({"app": "db"})),)))
    assert gathering.lonely_terms(pod) == frozenset()
    assert gathering.lonely_terms(pod) == frozenset()
