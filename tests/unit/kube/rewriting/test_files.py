"""Files keep everything that a conversion does not change."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Final

import pytest
import yaml

from dovetail.api.older.door import ConversionOptions
from dovetail.cloud.registry import extensions
from dovetail.kube.rewriting.files import ConvertedFiles, convert_files

ROOT: Final = Path(__file__).parents[4]
BEFORE: Final = """\
# Nodes of team ml.

# Ask before changing.
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner   # of the old sort
metadata:
    name: 'gpu'
    # who owns it
    annotations: {owner: "ml"} # a team
spec:
    # only these
    requirements:
    # with a GPU
    - key: node.kubernetes.io/instance-type # type
      operator: In
      values: ["g5.xlarge", # small
               "g5.2xlarge"]
      # or larger
    # end of the list
    labels:
        team: ml

    # keep pods away
    taints:
    -   key: nvidia.com/gpu
        effect: NoSchedule
    ttlSecondsAfterEmpty: 30  # soon
    limits:
        resources:
            # the budget
            cpu: "1000" # cores
    providerRef:
        name: default # template
# the end
---
# not ours
apiVersion: v1
kind: ConfigMap
metadata:   {name: "x"}   # as it is
"""
AFTER: Final = """\
# Nodes of team ml.

# Ask before changing.
apiVersion: karpenter.sh/v1
kind: NodePool # of the old sort
metadata:
    name: 'gpu'
    # who owns it
    annotations: {owner: "ml"} # a team
spec:
  template:
    metadata:
      # end of the list
      labels:
          team: ml
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default # template
      # only these
      requirements:
        # with a GPU
        - key: node.kubernetes.io/instance-type # type
          operator: In
          values: ["g5.xlarge", # small
                   "g5.2xlarge"]
          # or larger
        - key: kubernetes.io/os
          operator: In
          values:
            - linux
        - key: kubernetes.io/arch
          operator: In
          values:
            - amd64
        - key: karpenter.sh/capacity-type
          operator: In
          values:
            - on-demand

      # keep pods away
      taints:
      -   key: nvidia.com/gpu
          effect: NoSchedule
      expireAfter: Never
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 30s # soon
  limits:
      # the budget
      cpu: "1000" # cores
# the end
---
# not ours
apiVersion: v1
kind: ConfigMap
metadata:   {name: "x"}   # as it is
"""
CLAIM: Final = (
    "apiVersion: karpenter.sh/v1beta1\n"
    "kind: NodeClaim\n"
    "metadata: {name: c}\n"
    "spec: {nodeClassRef: {name: default}, requirements: [], expireAfter: 1h}\n"
)
CLAIM_AFTER: Final = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodeClaim",
    "metadata": {"name": "c"},
    "spec": {
        "nodeClassRef": {
            "group": "karpenter.k8s.aws",
            "kind": "EC2NodeClass",
            "name": "default",
        },
        "requirements": [],
        "expireAfter": "1h",
    },
}


def run(text: str | bytes) -> ConvertedFiles:
    """What becomes of standard input."""
    data = text if isinstance(text, bytes) else text.encode()
    return convert_files(["-"], io.BytesIO(data), extensions(), ConversionOptions())


def result(text: str) -> str:
    """The text that it becomes, without errors."""
    converted = run(text)
    assert converted.errors == ()
    return converted.files[0].text


def test_comments_move_with_their_fields_and_the_rest_is_as_it_was() -> None:
    """Above keys, behind values, in lists, in other documents; with quotes and flow style."""
    got = run(BEFORE)
    assert got.files[0].text == AFTER
    assert got.errors == ()
    assert not [one for one in got.warnings if "the comment" in one]


def test_comments_of_fields_that_are_gone_are_told_of() -> None:
    """Nothing is lost in silence."""
    fields = "spec:\n  nodeClassRef: {name: a}\n  kubelet: {} # of nodes\n"
    got = run(CLAIM.partition("spec:")[0] + fields)
    assert "# of nodes" not in got.files[0].text
    want = "the comment '# of nodes' is of a field that is gone; left out"
    assert [one for one in got.warnings if "the comment" in one] == [f"standard input: {want}"]


@pytest.mark.parametrize(
    "path",
    [
        *sorted((ROOT / "examples").rglob("*.yaml")),
        *sorted((ROOT / "charts").rglob("files/*.yaml")),
    ],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_what_is_of_v1_stays_to_the_byte_and_so_does_what_was_converted(path: Path) -> None:
    """The examples, of which one folder is older, and definitions."""
    text = path.read_text(encoding="utf-8")
    converted = result(text)
    assert result(converted) == converted
    assert (converted == text) == ("09-older-manifests" not in path.parts)


UNUSUAL: Final = {
    "line breaks of Windows": CLAIM.replace("\n", "\r\n"),
    "no line break at the end": CLAIM.rstrip(),
    "behind a document marker": f"---\n{CLAIM}",
    "beside a document marker": f"--- {json.dumps(yaml.safe_load(CLAIM))}\n",
    "flow style only": "{apiVersion: karpenter.sh/v1beta1, kind: NodeClaim, metadata: {name: c}, "
    "spec: {nodeClassRef: {name: default}, requirements: [], expireAfter: 1h}}\n",
    "indented": "".join(f"  {line}\n" for line in CLAIM.splitlines()),
    "ended by dots": f"{CLAIM}...\n",
    "with a directive": f"%YAML 1.1\n---\n{CLAIM}",
    "with an anchor": CLAIM.replace("1h", "&a 1h"),
    "with a tag": CLAIM.replace("1h", "!!str 1h"),
    "with explicit keys": CLAIM.replace("kind: NodeClaim", "? kind\n: NodeClaim"),
    "with quoted keys": CLAIM.replace("kind:", '"kind":').replace("spec:", "'spec':"),
    "with a text of two lines": CLAIM.replace("1h", '"1\\\n    h"'),
    "with an empty document": f"---\n---\n# nothing\n---\n{CLAIM}",
    "with a document that is no object": f"{CLAIM}---\njust text\n",
}  # fmt: skip


@pytest.mark.parametrize("text", UNUSUAL.values(), ids=list(UNUSUAL))
def test_unusual_yaml_is_converted(text: str) -> None:
    """The result is read as the converted objects, and is not changed again."""
    converted = result(text)
    trees = [tree for tree in yaml.safe_load_all(converted) if tree]
    assert trees[0] == CLAIM_AFTER
    assert result(converted) == converted
    assert ("\r\n" in converted) == ("\r\n" in text)


def test_anchors_and_merges_become_what_they_mean() -> None:
    """Where the object that has them changes."""
    text = (
        "apiVersion: karpenter.sh/v1beta1\nkind: NodeClaim\n"
        "metadata: {name: c, labels: &l {a: b}, annotations: {<<: *l, c: d}}\n"
        "spec: {nodeClassRef: {name: default}, requirements: []} # kept\n"
    )
    tree = yaml.safe_load(result(text))
    assert tree["metadata"]["annotations"] == {"a": "b", "c": "d"}
    assert tree["metadata"]["labels"] == {"a": "b"}


def test_a_literal_text_is_copied_with_its_lines() -> None:
    """Whatever looks like a comment in it."""
    data = "#!/bin/bash\n# no comment\n\n\techo '# x'  \n"
    text = (
        "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: a}\n"
        "spec:\n      instanceProfile: p\n      userData: | # the script\n"
        + "".join(f"        {line}\n" if line else "\n" for line in data.splitlines())
        + "      # about tags\n      tags: {a: b}\n"
    )
    converted = result(text)
    assert yaml.safe_load(converted)["spec"]["userData"] == data
    assert "  userData: | # the script\n    #!/bin/bash\n    # no comment\n\n" in converted
    assert "  # about tags\n  tags: {a: b}\n" in converted
    assert not [one for one in run(text).warnings if "the comment" in one]


def test_a_list_stays_one_with_what_is_new_beside_its_origin() -> None:
    """As kubectl writes it; items that do not change are copied with their comments."""
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        "- apiVersion: karpenter.sh/v1alpha5\n  kind: Provisioner\n  metadata: {name: a}\n"
        "  spec:\n    provider: {instanceProfile: p}\n    weight: 3 # heavy\n"
        "# not ours\n- apiVersion: v1\n  kind: Secret   # no\n  metadata: {name:   s}\n"
    )
    converted = result(text)
    tree = yaml.safe_load(converted)
    assert [item["kind"] for item in tree["items"]] == ["NodePool", "EC2NodeClass", "Secret"]
    assert "weight: 3 # heavy\n" in converted
    assert "# not ours\n" in converted
    assert "kind: Secret   # no\n" in converted


def test_a_typed_list_becomes_a_list() -> None:
    """Its items say what they are."""
    text = (
        "apiVersion: karpenter.sh/v1beta1\nkind: NodePoolList\nitems:\n"
        "- metadata: {name: a}\n  spec: {template: {spec: {nodeClassRef: {name: default}}}}\n"
    )
    tree = yaml.safe_load(result(text))
    assert (tree["apiVersion"], tree["kind"]) == ("v1", "List")
    assert (tree["items"][0]["apiVersion"], tree["items"][0]["kind"]) == (
        "karpenter.sh/v1",
        "NodePool",
    )


def test_json_stays_json() -> None:
    """One object, a list, or several in a row."""
    claim = json.dumps(yaml.safe_load(CLAIM))
    assert json.loads(result(claim)) == CLAIM_AFTER
    whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(CLAIM)]})
    assert json.loads(result(whole))["items"] == [CLAIM_AFTER]
    assert result(claim + claim.replace('"c"', '"d"')).count('"karpenter.sh/v1"') == 2
    same = json.dumps(CLAIM_AFTER, indent=7)
    assert result(same) == same


def test_a_new_object_follows_its_document() -> None:
    """Before the next one."""
    text = (
        "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\n"
        "spec: {provider: {instanceProfile: p}}\n# about the first\n---\nkind: Other\n"
    )
    converted = result(text)
    trees = list(yaml.safe_load_all(converted))
    assert [tree["kind"] for tree in trees] == ["NodePool", "EC2NodeClass", "Other"]
    assert converted.endswith("---\nkind: Other\n")


def test_files_of_one_run_are_converted_together(tmp_path: Path) -> None:
    """The kubelet of a pool goes to the class in another file."""
    (tmp_path / "a.yaml").write_text(
        "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\n"
        "spec: {template: {spec: {nodeClassRef: {name: x}, kubelet: {maxPods: 3}}}}\n"
    )
    (tmp_path / "b.json").write_text(
        json.dumps(
            {
                "apiVersion": "karpenter.k8s.aws/v1",
                "kind": "EC2NodeClass",
                "metadata": {"name": "x"},
                "spec": {"role": "r"},
            }
        )
    )
    got = convert_files([str(tmp_path)], io.BytesIO(), extensions(), ConversionOptions())
    assert json.loads(got.files[1].text)["spec"]["kubelet"] == {"maxPods": 3}
    assert [change.origin.file for change in got.changes] == [
        str(tmp_path / "a.yaml"),
        str(tmp_path / "b.json"),
    ]


LETTERS: Final = tuple(zip("abcdef", "bcdefg", strict=True))
HOSTILE: Final = {
    "malformed": ("a: [", "malformed YAML"),
    "not text": (b"\xff\xfe", "not UTF-8"),
    "empty": ("", "empty; expected at least one object"),
    "nested without end": ("a: " + "[" * 200, "nested deeper than 100 levels"),
    "aliases of aliases": (
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{n}: &{n} [{', '.join([f'*{p}'] * 10)}]\n" for p, n in LETTERS)
        + f"z: [{', '.join(['*g'] * 10)}]\n",
        "aliases stand for more than",
    ),
    "a key twice": ("a: 1\na: 2\n", "key 'a' occurs twice"),
    "JSON that ends too soon": ('{"a": ', "malformed JSON"),
    "JSON nested without end": ('{"a": ' * 5000 + "1" + "}" * 5000, "nested too deep"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "want"), HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_input_is_refused_and_the_rest_goes_on(
    text: str | bytes, want: str, tmp_path: Path
) -> None:
    """In words, within bounds."""
    path = tmp_path / "claim.yaml"
    path.write_text(CLAIM)
    data = text if isinstance(text, bytes) else text.encode()
    got = convert_files(["-", str(path)], io.BytesIO(data), extensions(), ConversionOptions())
    assert len(got.errors) == 1
    assert want in got.errors[0]
    assert [yaml.safe_load(file.text) for file in got.files] == [CLAIM_AFTER]


def test_what_breaks_a_rule_of_v1_is_told() -> None:
    """The API server would refuse it."""
    text = CLAIM.replace("requirements: []", "requirements: [{key: a, operator: In}]")
    [warning] = [one for one in run(text).warnings if "breaks a rule" in one]
    assert "NodeClaim c breaks a rule of v1: spec.requirements[0]" in warning


def test_only_comments_stay_as_they_are() -> None:
    """There is nothing to convert."""
    assert result("# nothing\n") == "# nothing\n"
