"""Generated NodePools beside other manifests, a live cluster, and the pods of a team."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from dovetail.cli import main
from tests.cli.clusters import example, serving

REQUEST: Final = (
    "name: payments\ncpu: 64\nfamilies: [m7g]\nlabels: {team: payments}\n"
    "taints: [{key: dedicated, value: payments, effect: NoSchedule}]\nnodeClass: {name: default}\n"
)
GENERAL: Final = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NAME}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7g, m6g]}
"""
NODE_CLASS: Final = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: NAME}
spec:
  role: r
  amiSelectorTerms: [{alias: al2023@v20260101}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
"""
WEB: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: payments}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      tolerations: TOLERATIONS
      containers: [{name: c, image: i, resources: {requests: {cpu: CPU, memory: 2Gi}}}]
"""
AGENT: Final = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: i, resources: {requests: {cpu: 10m}}}]
"""
TOLERANT: Final = "[{key: dedicated, operator: Exists}]"


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run the command on the request, with flags."""

    def runner(*argv: str, text: str = REQUEST) -> Ran:
        path = tmp_path / "request.yml"
        path.write_text(text, encoding="utf-8")
        code = main(("new", "nodepool", "-f", str(path), *argv))
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return runner


@pytest.fixture
def pools(tmp_path: Path) -> Path:
    """A folder of manifests with a pool for everybody and its node class."""
    folder = tmp_path / "pools"
    folder.mkdir()
    (folder / "general.yaml").write_text(GENERAL.replace("NAME", "general"), encoding="utf-8")
    (folder / "class.yaml").write_text(NODE_CLASS.replace("NAME", "default"), encoding="utf-8")
    return folder


@pytest.fixture
def workloads(tmp_path: Path) -> Callable[..., str]:
    """Write the team's Deployment; the path."""

    def written(cpu: str = "1", tolerations: str = TOLERANT) -> str:
        path = tmp_path / "web.yaml"
        text = WEB.replace("CPU", cpu).replace("TOLERATIONS", tolerations)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return written


def test_a_pool_that_serves_the_same_pods_is_a_warning(run: Run, pools: Path) -> None:
    """On stderr; the result is printed all the same."""
    done = run("--against", str(pools))
    assert done.code == 0
    assert done.out == run().out
    [line] = done.err.splitlines()
    assert line.startswith("warning: NodePool general is not tainted dedicated=payments:NoSchedule")
    assert "a nodeSelector team: payments keeps them here. Both can launch m7g.medium" in line


def test_a_name_that_another_file_has_is_refused(run: Run, pools: Path, tmp_path: Path) -> None:
    """With the place of the other one; nothing is written."""
    (pools / "mine.yaml").write_text(GENERAL.replace("NAME", "payments"), encoding="utf-8")
    out = tmp_path / "out.yaml"
    done = run("--against", str(pools), "--out", str(out))
    assert (done.code, done.out, out.exists()) == (2, "", False)
    assert f"error: {out}, document 1: metadata.name: NodePool payments is already in " in done.err
    assert "mine.yaml" in done.err


def test_its_own_file_among_the_others_is_not_another_pool(run: Run, pools: Path) -> None:
    """So that the second run is as the first."""
    out = str(pools / "payments.yaml")
    first = run("--against", str(pools), "--out", out)
    assert (first.code, first.out) == (0, f"{out}: written\n")
    again = run("--against", str(pools), "--out", out)
    assert (again.code, again.out, again.err) == (0, f"{out}: unchanged\n", first.err)


def test_a_generated_file_of_the_same_pool_is_another_one_only_beside_out(
    run: Run, pools: Path, tmp_path: Path
) -> None:
    """Without --out it is the pool itself; with another path there would be two."""
    out = str(pools / "payments.yaml")
    first = run("--against", str(pools), "--out", out)
    again = run("--against", str(pools))
    assert (again.code, again.err) == (0, first.err)
    other = tmp_path / "other.yaml"
    done = run("--against", str(pools), "--out", str(other))
    assert (done.code, other.exists()) == (2, False)
    assert f"NodePool payments is already in {out}" in done.err


def test_a_node_class_that_is_missing_among_others_is_a_warning(run: Run, pools: Path) -> None:
    """As `dovetail validate` has it."""
    (pools / "class.yaml").write_text(NODE_CLASS.replace("NAME", "other"), encoding="utf-8")
    done = run("--against", str(pools))
    assert done.code == 0
    assert "warning: the result, document 1: NodePool payments: " in done.err
    assert "there is no EC2NodeClass 'default' here; expected other" in done.err


def test_manifests_that_are_wrong_are_errors(run: Run, pools: Path) -> None:
    """By the rules of `dovetail validate`."""
    (pools / "bad.yaml").write_text(GENERAL.replace("NAME", "Bad"), encoding="utf-8")
    done = run("--against", str(pools))
    assert (done.code, done.out) == (2, "")
    assert "bad.yaml, document 1: metadata.name: 'Bad' is no name" in done.err
    assert "1 problem found." in done.err


def test_the_pods_of_a_team_have_a_price(run: Run, workloads: Callable[..., str]) -> None:
    """On stderr where stdout is the result, with what the limits leave."""
    done = run("--workloads", workloads())
    assert done.code == 0
    assert done.out == run().out
    assert "The team's pods on NodePool payments alone" in done.err
    assert "for 6 pods" in done.err
    assert "New nodes cost $" in done.err
    assert "Limits used: cpu 8 of 64." in done.err
    assert "synthetic" not in done.err


def test_the_node_class_and_daemon_sets_of_the_other_manifests_count(
    run: Run, pools: Path, workloads: Callable[..., str]
) -> None:
    """A node with room for three pods, one of them of a DaemonSet, takes two of the team."""
    path = workloads(cpu="100m")
    assert "1 new node for 6 pods" in run("--workloads", path).err
    text = NODE_CLASS.replace("NAME", "default") + "  kubelet: {maxPods: 3}\n"
    (pools / "class.yaml").write_text(text, encoding="utf-8")
    assert "2 new nodes for 6 pods" in run("--workloads", path, "--against", str(pools)).err
    (pools / "agent.yaml").write_text(AGENT, encoding="utf-8")
    assert "3 new nodes for 6 pods" in run("--workloads", path, "--against", str(pools)).err


def test_the_price_of_spot_is_said_to_be_synthetic(run: Run, workloads: Callable[..., str]) -> None:
    """Wherever it is shown."""
    done = run("--workloads", workloads(), text=f"{REQUEST}spot: only\n")
    assert "Spot prices of the built-in aws catalogue are synthetic" in done.err


def test_the_price_is_the_result_where_the_pool_goes_to_a_file(
    run: Run, workloads: Callable[..., str], tmp_path: Path
) -> None:
    """Then it is on stdout."""
    out = tmp_path / "pool.yaml"
    done = run("--workloads", workloads(), "--out", str(out))
    assert (done.code, done.err) == (0, "")
    assert "New nodes cost $" in done.out
    assert done.out.endswith(f"{out}: written\n")
    assert out.read_text(encoding="utf-8") == run().out


@pytest.mark.parametrize(
    ("change", "warning", "reason"),
    [
        pytest.param(
            {"tolerations": "[]"},
            "6 of 6 pods cannot be placed on the NodePool",
            "tolerate dedicated=payments:NoSchedule",
            id="a taint that is not tolerated",
        ),
        pytest.param(
            {"cpu": "14"}, "2 of 6 pods cannot be placed on the NodePool", "limit", id="the limit"
        ),
        pytest.param(
            {"cpu": "100"}, "6 of 6 pods cannot be placed on the NodePool", "cpu", id="the size"
        ),
    ],
)
def test_pods_that_cannot_be_placed_are_a_warning_with_the_reason(
    run: Run, workloads: Callable[..., str], change: dict[str, str], warning: str, reason: str
) -> None:
    """As `dovetail plan` gives it."""
    done = run("--workloads", workloads(**change))
    assert done.code == 0
    assert f"warning: {warning}" in done.err
    assert reason in done.err.partition("unschedulable")[2]


def test_pods_that_other_pools_would_get_are_counted(
    run: Run, pools: Path, workloads: Callable[..., str]
) -> None:
    """A pool of higher weight, without taints, takes all of them."""
    heavy = GENERAL.replace("spec:\n  template", "spec:\n  weight: 9\n  template")
    text = heavy.replace("NAME", "general")
    (pools / "general.yaml").write_text(text, encoding="utf-8")
    done = run("--against", str(pools), "--workloads", workloads())
    assert "With all NodePools, 6 pods would be placed on NodePool general instead." in done.err


def test_zones_of_another_region_are_priced_in_the_known_ones(
    run: Run, workloads: Callable[..., str]
) -> None:
    """With a note, and the zones of the request in the result."""
    done = run("--workloads", workloads(), text=f"{REQUEST}zones: [eu-west-1a]\n")
    assert done.code == 0
    assert "for 6 pods" in done.err
    assert "Note: Priced in us-west-2a, us-west-2b, us-west-2c" in done.err
    assert "values: [eu-west-1a]" not in done.err
    assert "eu-west-1a" in done.out


def test_workloads_without_pods_are_a_warning(run: Run, pools: Path) -> None:
    """The path may be wrong."""
    done = run("--workloads", str(pools / "class.yaml"))
    assert done.code == 0
    assert "warning: --workloads: no pending pods" in done.err


def test_a_live_cluster_is_compared_with_and_only_read(run: Run, tmp_path: Path) -> None:
    """Its pool of another provider takes no pods from ours, for it is tainted otherwise."""
    text = "name: trial\nprovider: kwok\ncpu: 8\n"
    with serving(tmp_path, example()) as cluster:
        done = run("--live", "--kubeconfig", str(cluster.kubeconfig), text=text)
        assert cluster.writes == []
    assert done.code == 0, done.err
    assert "warning: NodePool steady is tainted example.com/team" in done.err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(("--live", "--against", "a"), "not both", id="cluster and files"),
        pytest.param(("--kubeconfig", "a"), "expected --live with it", id="kubeconfig alone"),
        pytest.param(("--against", "-"), "standard input can only be", id="standard input"),
        pytest.param(("--against", "nowhere"), "nowhere: no such file", id="no such file"),
        pytest.param(("--workloads", "nowhere"), "nowhere: no such file", id="no workloads"),
    ],
)
def test_wrong_usage_ends_with_2(run: Run, argv: tuple[str, ...], message: str) -> None:
    """And says what was expected."""
    done = run(*argv)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
