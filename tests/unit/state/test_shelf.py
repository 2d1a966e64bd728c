"""Shelves: in order, and each noun made once."""

from __future__ import annotations

from dovetail import api
from dovetail.state.shelf import Derived, Shelf


def config(name: str, version: str = "", **labels: str) -> api.Namespace:
    """An object with labels."""
    meta = api.ObjectMeta(name=name, resource_version=version, labels=labels)
    return api.Namespace(metadata=meta)


def shelf() -> Shelf[api.Namespace, dict[str, str]]:
    """A shelf of labels; an object without any does not matter."""
    return Shelf(api.Namespace, lambda wire: wire.metadata.labels or None)


def test_few_changes_among_many_are_set_right_in_place() -> None:
    """Whatever comes, changes and goes, the order is that of names."""
    held, want = shelf(), {}
    for number in range(600):
        name = f"n{number:03}"
        held.put(config(name, a=name))
        want[name] = {"a": name}
    for step in range(300):
        name = f"n{step * 7919 % 900:03}"
        if step % 5 < 2:
            assert held.drop(("default", name)) == (want.pop(name, None) is not None)
        else:
            held.put(config(name, a=str(step)))
            want[name] = {"a": str(step)}
        if step % 3 == 0:
            assert held.all() == tuple(want[name] for name in sorted(want))
    assert [key for key, _ in held.items()] == [("default", name) for name in sorted(want)]


def test_the_same_version_is_not_read_again() -> None:
    """A list after a cut watch tells mostly what is known."""
    held = shelf()
    assert held.put(config("x", "1", a="b"))
    first = held.all()
    assert not held.put(config("x", "1", a="b"))
    assert held.n_converted == 1
    assert not held.put(config("x", "2", a="b"))
    assert held.n_converted == 2
    assert held.all() is first


def test_what_does_not_matter_is_not_kept() -> None:
    """Nor what has stopped to matter."""
    held = shelf()
    assert not held.put(config("x"))
    held.put(config("x", a="b"))
    assert held.keys() == {("default", "x")}
    assert held.put(config("x"))
    assert held.get(("default", "x")) is None
    assert not held.drop(("default", "x"))


def test_an_answer_stays_the_same_object_while_it_is_the_same() -> None:
    """It is worked out when a shelf has changed, and only then."""
    held = shelf()
    asked: list[int] = []

    def work_out() -> tuple[str, ...]:
        asked.append(1)
        return tuple(sorted({value for one in held.all() for value in one.values()}))

    derived = Derived(work_out, held)
    held.put(config("x", a="b"))
    first = derived()
    assert derived() is first
    assert len(asked) == 1
    held.put(config("y", a="b"))
    assert derived() is first
    assert len(asked) == 2
    held.put(config("y", a="c"))
    assert derived() == ("b", "c")
