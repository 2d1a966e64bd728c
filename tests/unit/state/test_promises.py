"""Promises are found by pod and by node, and what is over is forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dovetail import labels
from dovetail.model.pod import Pod, PodSpec
from dovetail.state.ledger import Book, Promise, Promises

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPEC = PodSpec(requests={})


def promise(target: str) -> Promise:
    """That a pod will get this node."""
    return Promise("u", target, NOW, "", is_starting=True)


def test_a_later_promise_takes_the_place_of_an_earlier_one() -> None:
    """Also for whoever asks for the node."""
    held = Promises()
    held.put(("a", "one"), promise("n"))
    held.put(("a", "two"), promise("n"))
    held.put(("a", "one"), promise("m"))
    assert held.pods("n") == (("a", "two"),)
    assert held.pods("m") == (("a", "one"),)
    held.drop(("a", "two"))
    held.drop(("a", "two"))
    assert held.pods("n") == ()
    assert [key for key, _ in held.items()] == [("a", "one")]


def test_a_pod_that_is_promised_ever_other_nodes_is_remembered_with_the_latest() -> None:
    """Capacity may be short for days."""
    book = Book(timedelta(seconds=20))
    pod = Pod("p", "a", spec=SPEC, uid="u")
    for at in range(1000):
        book.nominate(("a", "p"), pod, f"n{at}", NOW)
    told = [Pod("p", "a", spec=SPEC, uid="u", nominated_node_name=name) for name in ("n999", "n0")]
    latest, oldest = (book.read(("a", "p"), one).nominated_node_name for one in told)
    assert (latest, oldest) == ("", "n0")


def test_pods_that_do_not_exist_leave_no_names_behind() -> None:
    """A buffer's pods carry no status, and nobody hears of their end."""
    book = Book(timedelta(seconds=20))
    virtual = Pod("p", "a", spec=SPEC, uid="u", annotations={labels.BUFFER_FAKE_POD: "true"})
    book.nominate(("a", "p"), virtual, "n", NOW)
    assert book.promised_to("n") == ("a/p",)
    real = Pod("p", "a", spec=SPEC, uid="u", nominated_node_name="n")
    assert book.read(("a", "p"), real) is real
