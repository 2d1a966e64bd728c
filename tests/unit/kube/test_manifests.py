"""Reading manifests: whatever the form, the same objects; whatever is wrong, one clear message."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path

import pytest

from dovetail import api
from dovetail.errors import InputError
from dovetail.kube.manifests import Manifests, from_trees, read, read_all_problems

POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec: {containers: [{name: c, resources: {requests: {cpu: 100m}}}]}
"""


def pod(name: str) -> str:
    """A pod's manifest."""
    return POD.replace("NAME", name)


def given(text: str | bytes, *, name: str = "-") -> Manifests:
    """What standard input of this text holds."""
    data = text.encode() if isinstance(text, str) else text
    return read([name], io.BytesIO(data))


def refusal(text: str | bytes) -> str:
    """The message that this standard input is refused with."""
    with pytest.raises(InputError) as caught:
        given(text)
    return str(caught.value)


def names(manifests: Manifests) -> list[str]:
    """The names of all objects, in the order they were read."""
    return [one.object.metadata.name for one in manifests.manifests]


def as_json(*pods: str) -> list[object]:
    """Pods as JSON objects."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": one},
            "spec": {"containers": [{"name": "c"}]},
        }
        for one in pods
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pod("a") + "---" + pod("b"), id="two YAML documents"),
        pytest.param("---\n# nothing here\n---" + pod("a") + "---" + pod("b"), id="empty document"),
        pytest.param(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": as_json("a", "b")}),
            id="a JSON List",
        ),
        pytest.param(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": as_json("a", "b")}, indent=1),
            id="an indented JSON List",
        ),
        pytest.param(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "PodList",
                    "items": [
                        {"metadata": {"name": one}, "spec": {"containers": [{"name": "c"}]}}
                        for one in ("a", "b")
                    ],
                }
            ),
            id="a PodList whose items do not say what they are",
        ),
        pytest.param("\n".join(json.dumps(one) for one in as_json("a", "b")), id="JSON in a row"),
        pytest.param("\ufeff" + pod("a") + "---" + pod("b"), id="a byte order mark"),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems:\n"
            "- {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n"
            "- {apiVersion: v1, kind: List, items: "
            "[{apiVersion: v1, kind: Namespace, metadata: {name: b}}]}\n",
            id="a List in a List",
        ),
        pytest.param(
            "{apiVersion: v1, kind: List, items: ["
            "{apiVersion: v1, kind: Namespace, metadata: {name: a}}, "
            "{apiVersion: v1, kind: Namespace, metadata: {name: b}}]}",
            id="YAML that begins like JSON",
        ),
    ],
)
def test_every_form_of_the_same_objects_reads_alike(text: str) -> None:
    """Documents, lists, typed lists and JSON all come out as one flat sequence."""
    assert names(given(text)) == ["a", "b"]


def test_an_object_knows_where_it_stood() -> None:
    """Origins name the file, the document from 1 and the index in a list."""
    text = pod("a") + "---\napiVersion: v1\nkind: List\nitems:\n- " + json.dumps(as_json("b")[0])
    assert [str(one.origin) for one in given(text).manifests] == [
        "standard input, document 1",
        "standard input, document 2, items[0]",
    ]


def test_directories_are_read_in_order_and_each_file_once(tmp_path: Path) -> None:
    """*.yaml, *.yml and *.json at any depth, sorted; naming a file again changes nothing."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.yml").write_text(pod("b"))
    (tmp_path / "a.yaml").write_text(pod("a"))
    (tmp_path / "sub" / "c.json").write_text(json.dumps(as_json("c")[0]))
    (tmp_path / "notes.txt").write_text("not a manifest")
    (tmp_path / ".hidden.yaml").write_text("not: a manifest")
    found = read([str(tmp_path), str(tmp_path / "a.yaml")], io.BytesIO())
    assert names(found) == ["a", "b", "c"]


def test_kinds_that_mean_nothing_here_are_counted() -> None:
    """Other kinds are skipped, by full name."""
    text = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\n"
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}\n---\n"
        "apiVersion: v1\nkind: Secret\nmetadata: {name: t}\n"
    )
    assert dict(given(text).skipped) == {"Secret": 2, "Ingress.networking.k8s.io": 1}


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_scenario_is_recognised_and_left_alone(form: str) -> None:
    """given, now, want and because make a scenario, in YAML and in JSON."""
    tree = {"because": "a law", "given": {"pods": []}, "want": {}}
    text = json.dumps(tree) if form == "json" else "because: a law\ngiven: {pods: []}\nwant: {}\n"
    found = given(text)
    assert [one.content for one in found.scenarios] == [tree]
    assert not found.manifests


def test_a_generated_name_is_filled_in() -> None:
    """generateName without a name gives each object a name of its own."""
    text = pod("x").replace("name: x", "generateName: run-")
    assert names(given(text + "---\n" + text)) == ["run-0", "run-1"]


def test_objects_in_memory_are_read_the_same_way() -> None:
    """A scenario's manifests pass the same checks, under the scenario's name."""
    found = from_trees(
        [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}], "x.yaml"
    )
    assert names(found) == ["a"]
    with pytest.raises(InputError, match=r"x.yaml, document 1: .*apiVersion"):
        from_trees([{"kind": "Pod"}], "x.yaml")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", ["document 1", "empty", "expected at least one object"], id="empty"),
        pytest.param("  \n\n", ["document 1", "empty", "expected"], id="blank"),
        pytest.param("# hello\n---\n", ["document 1", "comments", "expected"], id="comments only"),
        pytest.param(
            pod("a") + "---\na: [1,\n",
            ["document 2", "line", "malformed YAML", "expected well-formed"],
            id="malformed YAML",
        ),
        pytest.param(
            '{"a": 1 "b": 2}', ["document 1", "malformed JSON", "expected"], id="a comma too few"
        ),
        pytest.param(
            json.dumps(as_json("a")[0]) + "\n{]",
            ["document 2", "malformed JSON", "expected"],
            id="malformed second JSON document",
        ),
        pytest.param(b"\x7fELF\x00\x01\x02", ["document 1", "not text", "expected"], id="binary"),
        pytest.param(b"a: \xff\xfe\n", ["document 1", "not UTF-8", "expected"], id="bad UTF-8"),
        pytest.param(b"a: \x01\n", ["document 1", "expected YAML"], id="control characters"),
        pytest.param("just words", ["document 1", "found text", "expected an object"], id="text"),
        pytest.param("[1, 2]", ["document 1", "found a list", "expected an object"], id="a list"),
        pytest.param("kind: Pod", ["document 1", "no apiVersion", "expected"], id="no apiVersion"),
        pytest.param("apiVersion: v1", ["document 1", "no kind", "expected"], id="no kind"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {}\n",
            ["document 1", "metadata.name", "expected a name"],
            id="no name",
        ),
        pytest.param(
            "apiVersion: v1\nkind: [Pod]\n", ["document 1", "kind", "expected `str`"], id="odd kind"
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {x: true}}\n",
            ["document 1", "metadata.labels", "expected `str`"],
            id="a label that is no text",
        ),
        pytest.param(
            pod("a") + "---" + pod("b").replace("100m", "100mm"),
            ["document 2", "spec.containers[0].resources.requests.cpu", "100mm", "expected"],
            id="a bad quantity",
        ),
        pytest.param(
            pod("a") + "---" + pod("a"),
            ["document 2", "metadata.name", "default/a", "document 1", "expected each object once"],
            id="two objects of one name",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
            "  containers: [{name: c}]\n"
            "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "{nodeSelectorTerms: [{matchExpressions: [{key: x, operator: Inn, values: [a]}]}]}}}\n",
            ["document 1", "spec.affinity", "operator", "Inn", "expected"],
            id="an unknown operator",
        ),
        pytest.param(
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec:\n"
            "  weight: 101\n  template: {spec: {requirements: [], nodeClassRef: "
            "{group: karpenter.kwok.sh, kind: KWOKNodeClass, name: d}}}\n",
            ["document 1", "spec.weight", "expected at most 100"],
            id="a NodePool that breaks a rule",
        ),
        pytest.param(
            "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(
                f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
                for old, new in ("ab", "bc", "cd", "de", "ef", "fg", "gh", "hi")
            ),
            ["document 1", "line", "aliases", "expected"],
            id="an alias bomb",
        ),
        pytest.param("a: &a [*a]\n", ["document 1", "*a refers to itself"], id="an endless alias"),
        pytest.param("[" * 5000, ["document 1", "nested too deep"], id="endless nesting in JSON"),
        pytest.param("a: " + "[" * 5000, ["document 1", "nested deeper than 100"], id="deep flow"),
        pytest.param("- " * 5000, ["document 1", "nested deeper than 100"], id="deep YAML"),
        pytest.param(
            '{"apiVersion":"v1","kind":"List","items":[' * 600 + "]}" * 600,
            ["document 1", "nested too deep"],
            id="Lists in Lists without end",
        ),
        pytest.param(
            "a: 1\na: 2\n", ["document 1", "line 2", "'a' occurs twice"], id="a key twice"
        ),
    ],
)
def test_bad_input_is_refused_with_place_and_expectation(
    text: str | bytes, want: list[str]
) -> None:
    """Every message names the file, the document and what was expected, and is one line."""
    message = refusal(text)
    assert message.startswith("standard input, document ")
    assert "\n" not in message
    for part in want:
        assert part in message


def test_deep_json_is_refused_as_such() -> None:
    """Well-formed or not, JSON that is nested without end is refused by its depth."""
    assert "nested too deep" in refusal('{"a":' * 100_000 + "1" + "}" * 100_000)


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"", id="text"),
        pytest.param(b'{"a": ', id="in JSON, a token"),
    ],
)
def test_an_endless_line_is_refused_before_it_is_all_read(start: bytes) -> None:
    """What never ends is refused after a bounded number of bytes."""

    class Endless(io.BytesIO):
        n_read = 0

        def read(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            head = start if not self.n_read else b""
            self.n_read += size
            assert self.n_read < 64 << 20, "read on and on"
            return head + b"x" * (size - len(head))

    with pytest.raises(InputError, match="a line of more than 10 MB; expected YAML or JSON"):
        read(["-"], Endless())


def test_a_long_line_of_json_objects_is_no_error() -> None:
    """Size alone is no error: compact JSON of many objects is one long line."""
    pods = [f"p{at}" for at in range(100)]
    items = as_json(*pods)
    for item in items:
        assert isinstance(item, dict)
        item["metadata"]["annotations"] = {"a": "x" * 150_000}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    assert len(text) > 11 << 20
    assert names(given(text)) == pods


def test_a_missing_file_and_an_empty_directory_are_named(tmp_path: Path) -> None:
    """Neither is passed over in silence."""
    with pytest.raises(InputError, match=r"nowhere.yaml: no such file.*expected"):
        read([str(tmp_path / "nowhere.yaml")], io.BytesIO())
    with pytest.raises(InputError, match=r"no manifests in this directory; expected \*.yaml"):
        read([str(tmp_path)], io.BytesIO())


def test_all_problems_are_collected_and_the_rest_is_read(tmp_path: Path) -> None:
    """One bad file or object does not hide another, nor the good ones."""
    (tmp_path / "a.yaml").write_text("a: [")
    (tmp_path / "b.yaml").write_text(
        pod("fine") + "---" + pod("bad").replace("100m", "1 cpu") + "---\nkind: Pod\n---" + pod("b")
    )
    (tmp_path / "c.yaml").write_text("")
    found, problems = read_all_problems([str(tmp_path), "nowhere"], io.BytesIO())
    assert names(found) == ["fine", "b"]
    assert [str(one).partition(":")[0].rpartition("/")[2] for one in problems] == [
        "a.yaml, document 1",
        "b.yaml, document 2",
        "b.yaml, document 3",
        "c.yaml, document 1",
        "nowhere",
    ]


def test_pods_of_one_template_are_all_refused() -> None:
    """A template is judged once, but every pod made from it is named."""
    bad = [pod(name).replace("100m", "lots") for name in ("a", "b")]
    data = io.BytesIO("---".join(bad).encode())
    _, problems = read_all_problems(["-"], data)
    assert [str(one).partition(":")[0] for one in problems] == [
        "standard input, document 1",
        "standard input, document 2",
    ]


def test_pods_of_one_template_hold_it_once_and_their_own_apart() -> None:
    """A dump of 150,000 pods is a few thousand templates."""
    items = [dict(one) for one in as_json("a", "b", "c") if isinstance(one, dict)]
    items[2] |= {"spec": {"containers": [{"name": "c"}], "nodeName": "n", "hostNetwork": True}}
    found = given(json.dumps({"apiVersion": "v1", "kind": "List", "items": items})).objects
    a, b, c = (one for one in found if isinstance(one, api.Pod))
    assert a.spec is b.spec
    assert (c.spec.node_name, c.spec.host_network, a.spec.host_network) == ("n", True, False)


@pytest.mark.parametrize("kind", ["Pod", "DaemonSet"])
def test_what_was_read_does_not_hold_on_to_the_input(kind: str) -> None:
    """Which may be a gigabyte, most of which nobody asks for."""
    told: dict[str, object] = {"name": "a", "annotations": {"example.test/x": "x" * 2_000_000}}
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": 1}}}]}
    templated = {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": spec}}
    held: dict[str, object] = {
        "Pod": {"apiVersion": "v1", "kind": kind, "metadata": {"name": "b"}, "spec": spec},
        "DaemonSet": {
            "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "b"}, "spec": templated
        },
    }  # fmt: skip
    large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": told}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [large, held[kind]]}).encode()
    stream = io.BytesIO(text)
    tracemalloc.start()
    found = read(["-"], stream)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert names(found) == ["b"]
    assert kept < 1_000_000


@pytest.mark.parametrize(
    "item",
    [
        '{"metadata": {"name": "n"}, "kind": "Node", "apiVersion": "v1"}',
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n"}, "kind": "Node"}',
        '{"apiVersion": "v1", "kind": "\\u004eode", "metadata": {"name": "n"}}',
        ' {\n  "apiVersion" : "v1" ,\n  "kind" : "Node", "metadata": {"name": "n"}}',
    ],
    ids=["said last", "said twice", "escaped", "spaced"],
)
def test_an_object_is_of_the_kind_that_it_says_wherever_it_says_so(item: str) -> None:
    """Of two kinds the last one counts, as everywhere in JSON."""
    for text in (item, f'{{"kind": "List", "items": [{item}], "apiVersion": "v1"}}'):
        (found,) = given(text).objects
        assert isinstance(found, api.Node)


def test_a_bad_pod_name_is_found_though_its_template_is_fine() -> None:
    """Names are judged for each pod, whatever was said of its template."""
    message = refusal(pod("fine") + "---" + pod("Bad_Name"))
    assert "document 2: metadata.name" in message


def test_null_fields_are_as_if_absent() -> None:
    """kubectl itself writes creationTimestamp: null."""
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, creationTimestamp: null, labels: null}\n"
        "spec: {containers: [{name: c, ports: null}], nodeSelector: null}\nstatus: {}\n"
    )
    [one] = given(text).manifests
    assert isinstance(one.object, api.Pod)
    assert one.object.metadata.labels == {}


TEMPLATE = "template: {spec: {containers: [{name: c}]}}"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        pytest.param(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
            f"spec: {{replicas: 2000000000, selector: {{}}, {TEMPLATE}}}\n",
            "spec.replicas",
            id="a Deployment",
        ),
        pytest.param(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n"
            f"spec: {{parallelism: 1000001, {TEMPLATE}}}\n",
            "spec.parallelism",
            id="a Job",
        ),
        pytest.param(
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@daily', "
            f"jobTemplate: {{spec: {{parallelism: 1000001, {TEMPLATE}}}}}}}\n",
            "spec.jobTemplate.spec.parallelism",
            id="a CronJob",
        ),
        pytest.param(
            "apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: a}\n"
            "spec: {podTemplateRef: {name: t}, replicas: 1000001}\n",
            "spec.replicas",
            id="a CapacityBuffer",
        ),
    ],
)
def test_more_pods_than_any_cluster_holds_are_refused(text: str, field: str) -> None:
    """A slip of the hand must not fill the memory with pods."""
    message = refusal(text)
    assert f"document 1: {field}: " in message
    assert "expected at most 1000000" in message


def test_a_bad_amount_in_a_claims_status_is_refused() -> None:
    """What a claim says its node has is counted, so it must be a quantity."""
    message = refusal(
        "apiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {name: a}\nspec: "
        "{requirements: [], nodeClassRef: {group: g, kind: K, name: n}}\n"
        "status: {allocatable: {cpu: lots}}\n"
    )
    assert "document 1: status.allocatable.cpu: 'lots' is not a quantity; expected" in message
