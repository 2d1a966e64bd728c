from __future__ import annotations

from dovetail.decide.nodes import with_memory


def test_the_last_answer_is_given_again_for_the_very_same_parts() -> None:
    """Equal parts that are other objects are worked out anew."""
    asked: list[object] = []

    @with_memory
    def count(*parts: tuple[object, ...]) -> int:
        asked.append(parts)
        return sum(map(len, parts))

    first, equal = (object(),), (object(),)
    assert [count(first), count(first), count(equal), count(equal), count(first)] == [1] * 5
    assert asked == [(first,), (equal,), (first,)]
    assert count(first, equal) == 2
    assert count() == 0
