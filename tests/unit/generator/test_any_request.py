"""Whatever a request holds, it is generated or refused, and what is generated is valid."""

from __future__ import annotations

import io
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.cloud.registry import extensions
from dovetail.generator import NodePoolRequest, RequestError, generate
from dovetail.generator.provider import generate_installed, problems_installed
from dovetail.kube.manifests import read_all_problems
from tests.unit.generator.requests import FULL, KWOK, PLAIN, catalogue

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8)
)
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["min", "max", "key", "effect", "name", "x"]), inner)
    ),
    max_leaves=6,
)
FIELDS = st.sampled_from(sorted(NodePoolRequest.__struct_encode_fields__))
AMOUNTS = st.sampled_from([1, 2, 4, 16, 64, "8", "4Gi"])
RANGES = st.fixed_dictionaries({}, optional={"min": AMOUNTS, "max": AMOUNTS})
HOURS = st.sampled_from(
    ["mon-fri 08:00-18:00", "22:00-06:00", "sun-mon 0:00-24:00", "sat 23:59-0:01"]
)
PLAUSIBLE = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a", "pay-1", "x.y"]),
        "nodeClass": st.sampled_from(
            [{"name": "d"}, {"role": "r", "cluster": "c"}, FULL["nodeClass"]]
        ),
    },
    optional={
        "memory": st.sampled_from(["4Ti", 2**42, "1Gi"]),
        "gpus": st.integers(8, 16),
        "families": st.sampled_from([[], ["m7g"], ["m5", "m7g"], ["g5"], ["t3", "p5"]]),
        "architectures": st.lists(st.sampled_from(["amd64", "arm64"]), max_size=2),
        "cpuPerNode": RANGES,
        "memoryPerNode": RANGES,
        "spot": st.sampled_from(["never", "allowed", "only"]),
        "zones": st.lists(st.sampled_from(["us-west-2a", "us-west-2b"]), max_size=2, unique=True),
        "labels": st.dictionaries(
            st.sampled_from(["team", "a.b/c", "on"]),
            st.sampled_from(["", "x", "no", "7"]),
        ),
        "taints": st.lists(
            st.fixed_dictionaries(
                {
                    "key": st.sampled_from(["a", "b/c", "on"]),
                    "effect": st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
                },
                optional={"value": st.sampled_from(["", "x", "true"])},
            ),
            max_size=2,
            unique_by=lambda taint: taint["key"],
        ),
        "quietHours": st.lists(HOURS, max_size=2, unique=True),
        "weight": st.integers(1, 100),
    },
)


@settings(max_examples=60)
@given(st.sampled_from([PLAIN, FULL, KWOK]), FIELDS, TREES)
def test_a_strange_field_is_refused_and_never_a_crash(
    request_: dict[str, Any], field: str, value: Any
) -> None:
    """Each problem names a field and what was expected."""
    tree = request_ | {field: value}
    problems = problems_installed(tree)
    assert all(problem.message for problem in problems)
    if not problems:
        assert generate_installed(tree).documents


@settings(max_examples=120)
@given(PLAUSIBLE)
def test_what_is_generated_is_valid_and_comes_to_the_same_again(tree: dict[str, Any]) -> None:
    """By the rules of `dovetail validate`."""
    try:
        generated = generate(tree, catalogue("aws"))
    except RequestError:
        return
    stdin = io.BytesIO(generated.text.encode())
    assert read_all_problems(["-"], stdin, extensions())[1] == ()
    assert tuple(yaml.safe_load_all(generated.text)) == generated.documents
    assert generate(tree, catalogue("aws")).text == generated.text
