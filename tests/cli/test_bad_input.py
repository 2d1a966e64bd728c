"""Bad input: one clear message with file, document, field and expectation; exit 2; no data."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.cli import main

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: []
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers: [{name: main, resources: {requests: {cpu: 100m}}}]
"""


def after_a_good_one(text: str) -> str:
    """As the second document, so that the message has to count."""
    return f"{POOL}---\n{text}"


BAD_FILES = [
    pytest.param("kind: Pod\n  metadata: {", ["YAML"], id="malformed YAML"),
    pytest.param('{"kind": "Pod", ', [], id="malformed JSON"),
    pytest.param(
        after_a_good_one(POD.replace("100m", "100 apples")),
        ["document 2", "cpu", "100 apples"],
        id="a bad quantity",
    ),
    pytest.param(
        after_a_good_one(
            POD + "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Near, values: [b]}]}]}}}\n"
        ),
        ["document 2", "operator", "Near"],
        id="an unknown operator",
    ),
    pytest.param(
        f"{POD}---\n" + POOL.replace("spec:\n  template", "spec:\n  weight: 101\n  template", 1),
        ["document 2", "weight", "100"],
        id="a NodePool that breaks a rule",
    ),
    pytest.param(
        f"{POD}---\n{POOL}---\n{POD}", ["document 3", "web"], id="two objects of one name"
    ),
    pytest.param("", ["empty"], id="an empty file"),
    pytest.param(
        after_a_good_one("apiVersion: v1\nmetadata: {name: x}\n"),
        ["document 2", "kind"],
        id="an object without a kind",
    ),
    pytest.param(after_a_good_one("just words\n"), ["document 2"], id="not an object"),
    pytest.param(
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{new}: &{new} [{', '.join(['*' + old] * 9)}]\n"
            for old, new in zip("abcdefghi", "bcdefghij", strict=True)
        ),
        ["alias"],
        id="an alias bomb",
    ),
    pytest.param("[" * 100_000, ["nest"], id="endless nesting"),
    pytest.param('{"a":' * 100_000, [], id="endless nesting in JSON"),
]


@pytest.mark.parametrize(("text", "words"), BAD_FILES)
@pytest.mark.parametrize("command", ["plan", "validate"])
def test_bad_input_is_one_clear_message(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    text: str,
    words: list[str],
) -> None:
    """The message names the file and what was expected where."""
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    code = main([command, "-f", str(path)])
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert "bad.yaml" in err
    assert "Traceback" not in err
    for word in words:
        assert word in err
    if command == "plan":
        assert err.startswith("error: ")
        assert len(err) < 1500


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param(bytes(range(256)) * 16, id="every byte"),
        pytest.param(b"\x7fELF\x02\x01\x01" + b"\x00" * 64, id="a program"),
        pytest.param(b"kind: Pod\nname: \xff\xfe\n", id="not UTF-8"),
    ],
)
def test_binary_junk_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], junk: bytes
) -> None:
    """Whatever the name says."""
    path = tmp_path / "bad.yaml"
    path.write_bytes(junk)
    assert main(["plan", "-f", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "bad.yaml" in err
    assert "Traceback" not in err


def test_a_directory_without_manifests_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planning nothing in silence would hide a wrong path."""
    (tmp_path / "notes.txt").write_text("no manifests here", encoding="utf-8")
    assert main(["plan", "-f", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert str(tmp_path) in err


def test_a_missing_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """By its name."""
    assert main(["plan", "-f", "not-there.yaml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "not-there.yaml" in err


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        pytest.param(["--now", "yesterday"], "--now", id="no time"),
        pytest.param(["--catalog", "not-there.json"], "not-there.json", id="no catalogue"),
        pytest.param(["--scheduler-config", "not-there.yaml"], "not-there.yaml", id="no config"),
        pytest.param(["--effort", "-1"], "--effort", id="negative effort"),
        pytest.param(["--spot-robustness", "2"], "--spot-robustness", id="more than a share"),
        pytest.param(["--preference-policy", "Maybe"], "Maybe", id="no policy"),
        pytest.param(["--feature-gates", "NodeOverlay=perhaps"], "NodeOverlay", id="no gate"),
        pytest.param(["-o", "xml"], "xml", id="no such form"),
        pytest.param(["--colour"], "--colour", id="no such flag"),
    ],
)
def test_bad_usage_is_refused_with_the_flag_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], argv: list[str], word: str
) -> None:
    """Exit 2, nothing on stdout."""
    path = tmp_path / "good.yaml"
    path.write_text(POOL, encoding="utf-8")
    assert main(["plan", "-f", str(path), *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert word in err


@pytest.mark.parametrize("argv", [["plan"], ["validate"], [], ["explode"]])
def test_a_command_without_what_it_needs_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    """Exit 2, and the way to help."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Usage: dovetail" in err


def test_validate_reports_every_problem_not_only_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line each, over all files, then how many there were."""
    (tmp_path / "a.yaml").write_text(POD.replace("100m", "1 apple"), encoding="utf-8")
    (tmp_path / "b.yaml").write_text(
        POOL.replace("requirements: []", "requirements: [{key: a, operator: Near}]"),
        encoding="utf-8",
    )
    (tmp_path / "c.yaml").write_text("kind: [", encoding="utf-8")
    assert main(["validate", "-f", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    for name in ("a.yaml", "b.yaml", "c.yaml"):
        assert any(name in line for line in lines)
    assert err.splitlines()[-1].endswith("problems found.")


def test_validate_says_how_many_objects_are_fine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0."""
    (tmp_path / "good.yaml").write_text(f"{POD}---\n{POOL}", encoding="utf-8")
    assert main(["validate", "-f", str(tmp_path)]) == 0
    out, _ = capsys.readouterr()
    assert out == "2 objects are fine.\n"


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        pytest.param(
            "volumes: [{name: d, persistentVolumeClaim: {claimName: gone}}]", "gone", id="a claim"
        ),
        pytest.param("priorityClassName: royal", "royal", id="a priority class"),
    ],
)
def test_a_missing_reference_is_a_reason_not_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spec: str, word: str
) -> None:
    """The pod is reported as unschedulable, and the rest is planned."""
    path = tmp_path / "cluster.yaml"
    other = POD.replace("web", "other")
    path.write_text(f"{POOL}---\n{other}---\n{POD}  {spec}\n", encoding="utf-8")
    assert main(["plan", "-f", str(path), "-o", "json"]) == 0
    out, _ = capsys.readouterr()
    assert '"shop/other"' in out
    assert word in out.split('"unschedulable"')[1]


BUDGETS = POOL.replace(
    "spec:\n", "spec:\n  disruption: {consolidateAfter: 0s, budgets: [{nodes: 10%}, BUDGET]}\n", 1
)
AT = "spec.disruption.budgets[1]"


@pytest.mark.parametrize(
    ("budget", "field", "expected"),
    [
        pytest.param(
            '{nodes: "1", schedule: 0 25 * * *, duration: 1h}',
            f"{AT}.schedule",
            "0 to 23",
            id="no such hour",
        ),
        pytest.param(
            '{nodes: "1", schedule: at noon, duration: 1h}',
            f"{AT}.schedule",
            "five cron fields",
            id="no schedule",
        ),
        pytest.param("{nodes: 101%}", f"{AT}.nodes", "percentage", id="more than all nodes"),
        pytest.param('{nodes: "-1"}', f"{AT}.nodes", "a number", id="less than no node"),
        pytest.param(
            '{nodes: "1", schedule: "@daily", duration: -1h}',
            f"{AT}.duration",
            "hours and minutes",
            id="a negative duration",
        ),
        pytest.param(
            '{nodes: "1", schedule: "@daily"}', f"{AT}: ", "together", id="without a duration"
        ),
        pytest.param('{nodes: "1", duration: 1h}', f"{AT}: ", "together", id="without a schedule"),
        pytest.param(
            '{nodes: "1", reasons: [Expired]}',
            f"{AT}.reasons[0]",
            "one of Underutilized",
            id="a reason that budgets do not limit",
        ),
        pytest.param(
            '{nodes: "1", reasons: [Empty, Empty]}', f"{AT}.reasons[1]", "once", id="a reason twice"
        ),
    ],
)
def test_a_bad_budget_is_refused_with_its_field_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], budget: str, field: str, expected: str
) -> None:
    """By every command that reads it, and with what was expected there."""
    path = tmp_path / "pool.yaml"
    path.write_text(BUDGETS.replace("BUDGET", budget), encoding="utf-8")
    for command in ("validate", "plan", "budgets"):
        assert main([command, "-f", str(path)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        [line] = [line for line in err.splitlines() if line.startswith("error: ")]
        assert field in line
        assert expected in line


def test_validate_warns_of_a_budget_about_no_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The API server takes it, and it limits nothing."""
    path = tmp_path / "pool.yaml"
    path.write_text(BUDGETS.replace("BUDGET", '{nodes: "0", reasons: []}'), encoding="utf-8")
    assert main(["validate", "-f", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out == "1 object is fine.\n"
    [line] = err.splitlines()
    assert line.startswith("warning: ")
    assert f"{AT} never limits anything: reasons is an empty list" in line
