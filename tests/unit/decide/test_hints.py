from __future__ import annotations

import pytest

from dovetail.decide.hints import closest_key, closest_value, edits


@pytest.mark.parametrize(
    ("left", "right", "want"),
    [
        pytest.param("zone", "zone", 0, id="the same"),
        pytest.param("zone", "zon", 1, id="one dropped"),
        pytest.param("zone", "zones", 1, id="one added"),
        pytest.param("zone", "tone", 1, id="one changed"),
        pytest.param("zone", "znoe", 1, id="two swapped"),
        pytest.param("zone", "znoes", 2, id="two slips"),
        pytest.param("zone", "region", 3, id="another word"),
        pytest.param("abcd", "wxyz", 3, id="never more than one over the most"),
    ],
)
def test_slips_are_counted_up_to_a_point(left: str, right: str, want: int) -> None:
    """Added, dropped, changed and swapped letters; more than two are all the same."""
    assert edits(left, right) == want


@pytest.mark.parametrize(
    ("key", "want"),
    [
        pytest.param("taem", "team", id="swapped letters"),
        pytest.param("zone", "topology.kubernetes.io/zone", id="the domain was left out"),
        pytest.param("example.com/zone", "topology.kubernetes.io/zone", id="another domain"),
        pytest.param("tam", "", id="too short to guess"),
        pytest.param("colour", "", id="another word"),
    ],
)
def test_a_label_is_guessed_by_letters_or_by_name(key: str, want: str) -> None:
    """Close in letters, or equal behind the slash."""
    assert closest_key(key, ["topology.kubernetes.io/zone", "team"]) == want


@pytest.mark.parametrize(
    ("value", "known", "want"),
    [
        pytest.param("us-west-2A", ["us-west-2a"], "us-west-2a", id="case"),
        pytest.param("spott", ["spot", "on-demand"], "spot", id="a letter too many"),
        pytest.param("arm46", ["arm64", "amd64"], "arm64", id="swapped digits"),
        pytest.param("us-west-2d", ["us-west-2a"], "", id="another zone is no slip"),
        pytest.param("m5.large", ["m5.xlarge"], "", id="another size is no slip"),
    ],
)
def test_a_value_is_only_guessed_where_no_other_is_meant(
    value: str, known: list[str], want: str
) -> None:
    """One letter for another usually names something else."""
    assert closest_value(value, known) == want
