"""What belongs to one test on the shared control plane, and how is it all taken away again?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.controlplane.plane import ControlPlane
from tests.e2e.live import Objects, objects, until
from tests.e2e.manifests import HOME, STAGE, Tree, listed, node_class, node_pool, pod, pod_spec

_KINDS = "nodepools,nodeclaims,nodes"
COMPONENT = "karpenter"  # whose events are the controller's
_SHARED = "nodepools,runtimeclasses,priorityclasses"


@dataclass
class Script:
    """What is written for one stage: its pools, claims and nodes have its label, and its pods ask
    for it, so that stages do not disturb each other.
    """

    name: str
    home: str = ""

    @property
    def label(self) -> dict[str, str]:
        """The stage's own label."""
        return {STAGE: self.name}

    @property
    def labels(self) -> dict[str, str]:
        """What is on everything that belongs to the stage."""
        return {STAGE: self.name, HOME: self.home or self.name}

    def pool(self, name: str = "", **more: Any) -> Tree:
        """A pool of the stage."""
        labels = more.pop("labels", {})
        return node_pool(name or self.name, labels=self.labels | labels, **more)

    def spec(self, **more: Any) -> Tree:
        """The spec of a pod that only nodes of the stage can have."""
        chosen: Mapping[str, str] = more.pop("nodeSelector", {})
        return pod_spec(nodeSelector={**self.label, **chosen}, **more)

    def pods(self, n_pods: int, **more: Any) -> list[Tree]:
        """Pods alike, of the stage's own app."""
        labels = {"app": self.name} | self.labels | more.pop("labels", {})
        name = more.pop("name", self.name)
        spec = self.spec(**more)
        return [pod(f"{name}-{number}", spec, labels=labels) for number in range(n_pods)]


@dataclass
class Stage:
    """A namespace, pools and nodes that no other test touches."""

    plane: ControlPlane
    name: str

    @property
    def script(self) -> Script:
        """What is written for it."""
        return Script(self.name)

    @property
    def labels(self) -> dict[str, str]:
        """What is on everything that belongs to the stage."""
        return self.script.labels

    def pool(self, name: str = "", **more: Any) -> Tree:
        """A pool of the stage."""
        return self.script.pool(name, **more)

    def spec(self, **more: Any) -> Tree:
        """The spec of a pod that only nodes of the stage can have."""
        return self.script.spec(**more)

    def apply(self, *trees: Tree) -> None:
        """Apply as a user would."""
        self.kubectl("apply", "--server-side", "-f", "-", given=json.dumps(listed(trees)))

    def kubectl(self, *words: str, given: str = "", check: bool = True) -> str:
        """What kubectl prints, in the stage's namespace."""
        return self.plane.kubectl("-n", self.name, *words, given=given, check=check)

    def pods(self, *words: str) -> Objects:
        """All its pods."""
        return objects(self.plane, "pods", "-n", self.name, *words)

    def nodes(self) -> Objects:
        """All its nodes."""
        return objects(self.plane, "nodes", "-l", f"{HOME}={self.name}")

    def claims(self) -> Objects:
        """All its claims."""
        return objects(self.plane, "nodeclaims", "-l", f"{HOME}={self.name}")

    def node_of(self, pod: Mapping[str, Any]) -> dict[str, Any]:
        """The node that a pod is bound to."""
        name = pod["spec"]["nodeName"]
        return next(one for one in self.nodes() if one["metadata"]["name"] == name)

    def events(self, about: str, name: str = "") -> dict[str, list[str]]:
        """What the controller told about objects of a kind: messages by reason."""
        chosen = f"involvedObject.kind={about}"
        if name:
            chosen += f",involvedObject.name={name}"
        found: dict[str, list[str]] = {}
        for one in objects(self.plane, "events", "-A", "--field-selector", chosen):
            if one["source"].get("component") == COMPONENT:
                found.setdefault(one["reason"], []).append(one["message"])
        return found

    def has_running(self, n_pods: int, *words: str) -> bool:
        """Whether so many pods, and no others, are there and run."""
        return [one["status"]["phase"] for one in self.pods(*words)] == ["Running"] * n_pods

    def is_bare(self) -> bool:
        """Whether no node and no claim is left."""
        chosen = f"{HOME}={self.name}"
        return not self.plane.kubectl("get", _KINDS, "-l", chosen, "-o", "name").strip()

    def strike(self) -> None:
        """Delete everything, without waiting for it to be gone."""
        self.plane.kubectl("delete", "namespace", self.name, "--wait=false")
        self.plane.kubectl("delete", _SHARED, "-l", f"{HOME}={self.name}", "--wait=false")


_RAISED: list[Stage] = []


def raised(plane: ControlPlane, name: str) -> Stage:
    """A new stage."""
    stage = Stage(plane, name)
    stage.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, node_class())
    _RAISED.append(stage)
    return stage


@contextmanager
def staged(plane: ControlPlane, name: str) -> Iterator[Stage]:
    """A stage for as long as the block lasts. What is left of it goes while other tests run:
    `all_gone` waits for that.
    """
    stage = raised(plane, name)
    try:
        yield stage
    finally:
        stage.strike()


def all_gone() -> None:
    """Wait until nothing is left of any stage that was struck."""
    for stage in _RAISED:
        until(stage.is_bare, f"nothing is left of {stage.name}")
    _RAISED.clear()
