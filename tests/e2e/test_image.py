"""Does the image's command run as an unprivileged user on a root that cannot be written?"""

from __future__ import annotations

import socket
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.controlplane.charts import controller_kubeconfig, rendered
from tests.controlplane.plane import ControlPlane
from tests.e2e import sandbox
from tests.e2e.dockerfile import Stage, stages
from tests.e2e.sandbox import PATIENCE_SECONDS, ROOT, Container, Running

pytestmark = pytest.mark.xdist_group("controlplane")

BUILD, SHIPPED = stages(ROOT / "Dockerfile")
(DOVETAIL, *RUN) = SHIPPED.entrypoint
# What the chart's Deployment adds to the image's command.
ARGUMENTS = ("--provider=kwok",)


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """What the first stage makes for the second."""
    assert SHIPPED.said("COPY") == ["--from=build /opt/dovetail /opt/dovetail"]
    with tempfile.TemporaryDirectory(prefix="dovetail-image-") as folder:
        sandbox.build(BUILD, Path(folder))
        yield Path(folder) / "dovetail"


def written(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file and folder with its size and when it was changed."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }


def test_the_image_is_pinned_and_unprivileged() -> None:
    """No root, no shell, no package without its hash, and one Python for both stages."""
    assert SHIPPED.said("USER") == ["65532:65532"]
    assert RUN == ["run"]
    assert not SHIPPED.said("RUN")
    commands = [one for step in BUILD.said("RUN") for one in step.split("&&") if "/pip " in one]
    assert len(commands) == 4
    assert all("--require-hashes" in one or "--no-index" in one for one in commands)
    assert BUILD.base.startswith("python:3.11-")
    assert SHIPPED.base.startswith("python:3.11-")


def test_the_chart_adds_these_arguments() -> None:
    """And leaves the command to the image."""
    (deployment,) = [one for one in rendered() if one["kind"] == "Deployment"]
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["args"] == list(ARGUMENTS)
    assert "command" not in container
    user = SHIPPED.said("USER")[-1]
    context = container["securityContext"]
    assert user == f"{context['runAsUser']}:{context['runAsGroup']}"


def test_the_context_holds_only_what_is_copied() -> None:
    """Whatever else lies about in a clone stays out of the image."""
    sources = [word for step in BUILD.said("COPY") for word in step.split()[:-1]]
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert [line for line in lines if line.startswith("!")] == [f"!{one}" for one in sources]
    assert "*" in lines


@pytest.mark.parametrize("words", [[*RUN, "--help"], ["crds"], ["install", "--dry-run"]])
def test_its_commands_run_on_a_read_only_root(installed: Path, words: list[str]) -> None:
    """Without a shell, as nobody in particular."""
    done = Container(installed, SHIPPED).run(DOVETAIL, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if "--help" not in words:
        assert all(tree["kind"] for tree in yaml.safe_load_all(done.stdout))


@pytest.mark.parametrize("place", ["/", "/opt/dovetail", "/usr"])
def test_the_root_really_is_read_only(installed: Path, place: str) -> None:
    """And the user really has no power: else the test above would prove nothing."""
    python = str(Path(DOVETAIL).parent / "python3.11")
    attempt = f"import os; print(os.getuid()); os.mkdir({place!r} + '/x')"
    done = Container(installed, SHIPPED).run(python, "-c", attempt)
    assert done.stdout == "65532\n"
    assert done.returncode == 1
    assert "Read-only file system" in done.stderr


def test_no_shell_can_be_started(installed: Path) -> None:
    """There is none."""
    done = Container(installed, SHIPPED).run("/bin/sh", "-c", "true")
    assert done.returncode != 0


def test_the_compiled_kernel_is_shipped(installed: Path) -> None:
    """The first stage has a compiler; without the kernel plans would be the same, but slower."""
    assert list(installed.rglob("solve/kernel/_kernel.so"))
    assert not list(installed.rglob("pip"))


def test_nothing_is_written_where_it_could_be(installed: Path, tmp_path: Path) -> None:
    """Given places to write to, it leaves none of them changed."""
    container = Container(installed, SHIPPED, writable=tmp_path)
    manifests = ROOT / "examples" / "demo"
    container.run("/usr/bin/true", reads=(manifests,))  # makes the places where things are mounted
    before = (written(installed), written(tmp_path))
    done = container.run(DOVETAIL, "plan", "-f", str(manifests), reads=(manifests,))
    assert done.returncode == 0, done.stderr
    assert (written(installed), written(tmp_path)) == before


def test_the_controller_runs_as_it_is_installed(
    plane: ControlPlane, installed: Path, tmp_path: Path
) -> None:
    """The image's command, the chart's arguments and rights, a user without power, a root that
    cannot be written: it leads, is ready, serves its metrics, and ends cleanly when told to.
    """
    with controller_kubeconfig(plane, namespace="image") as config:
        check_that_it_runs(plane, Container(installed, SHIPPED), config)
        places = Container(installed, SHIPPED, writable=tmp_path)
        places.run("/usr/bin/true", reads=(config,))
        before = (written(installed), written(tmp_path))
        check_that_it_runs(plane, places, config)
        assert (written(installed), written(tmp_path)) == before


def check_that_it_runs(plane: ControlPlane, container: Container, config: Path) -> None:
    """From start to end, once."""
    metrics, health = free_port(), free_port()
    words = ["--kubeconfig", str(config), "--leader-election-namespace=image"]
    words += [f"--metrics-port={metrics}", f"--health-probe-port={health}", *ARGUMENTS]
    with container.running(*SHIPPED.entrypoint, *words, reads=(config,)) as controller:
        assert answered(f"http://127.0.0.1:{health}/healthz", controller)
        assert answered(f"http://127.0.0.1:{health}/readyz", controller)
        assert "karpenter_" in answered(f"http://127.0.0.1:{metrics}/metrics", controller)
        assert controller.stop() == 0, controller.said()
        assert "Error" not in controller.said()
    lease = ("get", "lease", "karpenter-leader-election", "-n", "image")
    assert plane.kubectl(*lease, "-o", "jsonpath={.spec.holderIdentity}") == ""


def answered(url: str, controller: Running) -> str:
    """What is served there, once it is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310  # the URL is our own
                return str(answer.read().decode())
        except OSError:
            is_over = controller.outer.poll() is not None or time.monotonic() > deadline
            assert not is_over, f"{url}\n{controller.said()}"
            time.sleep(0.1)


def free_port() -> int:
    """A port that nobody has just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_write_would_be_noticed(installed: Path, tmp_path: Path) -> None:
    """Else the test above would prove nothing."""
    container = Container(installed, SHIPPED, writable=tmp_path)
    python = str(Path(DOVETAIL).parent / "python3.11")
    done = container.run(python, "-c", "open('/tmp/left-behind', 'w').close()")
    assert done.returncode == 0, done.stderr
    assert "tmp/left-behind" in written(tmp_path)


def test_what_the_test_reads_is_what_docker_would_read() -> None:
    """Comments, continued lines and stages."""
    with tempfile.NamedTemporaryFile("w", suffix="Dockerfile") as file:
        file.write(
            '# x\nFROM a AS b\nRUN one \\\n  two\n\nFROM c\nENV A=b=c\nENTRYPOINT ["d", "e"]\n'
        )
        file.flush()
        first, second = stages(Path(file.name))
    assert first == Stage("a", "b", [("RUN", "one    two")])
    assert second.entrypoint == ["d", "e"]
    assert second.environment == {"A": "b=c"}
