"""Do pods of nodes that are to empty say that they may go first, and no others?

Workloads shrink by themselves, and ReplicaSets then choose whom to give up. After each decision
what it says is compared with what pods say, and the difference is written, some pods at a time.
What pods say is heard, not remembered: marks that an earlier process left are dealt with as our
own. Pods whose owners have set a cost themselves are left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final

from dovetail import api, labels
from dovetail.actuate.yielding import Word, say
from dovetail.controllers.known import Known
from dovetail.controllers.means import Means
from dovetail.controllers.rounds import Rounds
from dovetail.decide.disrupt.cost import deletion_cost
from dovetail.errors import DovetailError
from dovetail.kube.errors import ApiError, NotFoundError
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.model.plan import Yield
from dovetail.model.pod import Pod, PodKey

_AT_MOST: Final = 50  # pods that are written after one decision


class Yielding:
    """Marks pods, and takes marks off, one round after a decision."""

    def __init__(self, means: Means, known: Known) -> None:
        self._means = means
        self._known = known
        self._log = means.log.named("disruption")
        self._wanted: tuple[Yield, ...] = ()
        self._said: dict[PodKey, tuple[str, int]] = {}  # by whom, and at what cost
        self._failed: frozenset[PodKey] = frozenset()  # in the last round: others come first
        self._rounds = Rounds(self._write)
        self.run = self._rounds.run
        self.finish = self._rounds.finish

    def hear(self, notice: Notice) -> None:
        """What pods say of themselves, as far as it is our word."""
        match notice:
            case Present(object=api.Pod(metadata=meta)):
                key = f"{meta.namespace}/{meta.name}"
                if labels.YIELDS in meta.annotations:
                    self._said[key] = (meta.uid, deletion_cost(meta.annotations))
                else:
                    self._said.pop(key, None)
            case Absent(object=api.Pod(metadata=meta)):
                self._said.pop(f"{meta.namespace}/{meta.name}", None)
            case _:
                return

    def decided(self, wanted: Iterable[Yield]) -> None:
        """Pods of these nodes, and no others, should go first."""
        self._wanted = tuple(wanted)
        self._rounds.begin()

    async def _write(self) -> None:
        due = sorted(self._due(), key=lambda one: (one.pod in self._failed, one.cost or 0))
        async with asyncio.TaskGroup() as group:
            tasks = [(one.pod, group.create_task(self._say(one))) for one in due[:_AT_MOST]]
        self._failed = frozenset(pod for pod, task in tasks if not task.result())

    def _due(self) -> Iterator[Word]:
        """What pods should say and do not, or the other way round."""
        meant: set[PodKey] = set()
        for one in self._wanted:
            for pod in filter(_may_yield, self._known.pods_on(one.node)):
                meant.add(pod.key)
                if self._said.get(pod.key) != (pod.uid, one.cost):
                    yield Word(pod.key, pod.uid, one.cost)
        for key, (uid, _) in self._said.items():
            if key not in meant:
                yield Word(key, uid, None)

    async def _say(self, word: Word) -> bool:
        """Whether that worked; what fails is told, and left to the next decision."""
        try:
            await say(self._means.kube, word)
        except NotFoundError:
            return True  # there is nobody left to say it
        except ApiError as error:
            self._log.debug("marking a pod", Pod=word.pod, error=str(error))
            return False
        except DovetailError as error:
            self._log.error("marking a pod failed", Pod=word.pod, error=str(error))
            return False
        return True


def _may_yield(pod: Pod) -> bool:
    """Only ReplicaSets ask; and who has said something keeps to it."""
    is_asked = pod.owner is not None and pod.owner.kind == "ReplicaSet"
    has_spoken = labels.DELETION_COST in pod.annotations
    return is_asked and not has_spoken and not pod.is_terminal and pod.deleting_at is None
