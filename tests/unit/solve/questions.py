"""Questions about random clusters: which nodes go, who moves, and the plain puzzle it means."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dovetail.model.pod import Pod
from dovetail.solve.probing.prepared import Limits, Prepared, prepare
from dovetail.solve.puzzle import Puzzle, canonical
from tests.laws.market import Scale
from tests.unit.solve.puzzles import lottery, random_puzzle


class Question(msgspec.Struct, frozen=True):
    """A cluster, nodes that go, and those of their pods that move."""

    cluster: Puzzle  # in which nobody waits; its volumes are everybody's
    gone: tuple[str, ...]
    pods: tuple[Pod, ...]

    @property
    def limits(self) -> Limits:
        """What pools may still add."""
        return self.cluster.limits

    def prepared(self) -> Prepared:
        """The cluster as tables."""
        held: dict[str, tuple[Pod, ...]] = {}
        for one in self.cluster.bound:
            held[one.node_name] = (*held.get(one.node_name, ()), one)
        asked = msgspec.structs.replace(self.cluster, bound=(), bound_volumes={})
        return prepare(asked, held)

    def plain(self) -> Puzzle:
        """The same question, put as if these pods waited and the nodes had never been."""
        moving = {pod.key for pod in self.pods}
        volumes = self.cluster.volumes.items()
        asked = msgspec.structs.replace(
            self.cluster,
            pods=self.pods,
            nodes=tuple(one for one in self.cluster.nodes if one.name not in self.gone),
            bound=tuple(one for one in self.cluster.bound if one.node_name not in self.gone),
            volumes={key: one for key, one in volumes if key in moving},
            bound_volumes={key: one for key, one in volumes if key not in moving},
        )
        return canonical(asked)


def question(seed: int) -> Question | None:
    """Some nodes of a random cluster go, and all their pods but daemon pods move; None if nobody
    would. Who waited is bound anywhere, whether that is legal or not.
    """
    asked = random_puzzle(seed, Scale(most_nodes=8, most_apps=8, most_pods=40))
    chance = lottery(seed)
    names = [node.name for node in asked.nodes]
    if not names:
        return None
    gone = tuple(sorted(chance.sample(names, k=min(len(names), chance.choice((1, 1, 2))))))
    running = [pod for pod in asked.bound if not pod.is_terminal]
    running += [msgspec.structs.replace(one, node_name=chance.choice(names)) for one in asked.pods]
    volumes = {**asked.volumes, **asked.bound_volumes}
    pods = [one for one in running if one.node_name in gone and not one.is_daemon]
    pods = [one for one in pods if not one.claim_names or one.key in volumes]
    cluster = msgspec.structs.replace(
        asked, pods=(), bound=tuple(running), volumes=volumes, bound_volumes={}
    )
    return Question(cluster, gone, tuple(pods)) if pods else None


def questions(n_seeds: int) -> Iterator[tuple[int, Question]]:
    """Questions about many clusters."""
    for seed in range(n_seeds):
        asked = question(seed)
        if asked is not None:
            yield seed, asked
