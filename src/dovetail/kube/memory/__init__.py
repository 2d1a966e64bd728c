"""memory — an API server in this process: for tests, the simulator and the demo.

Rule 1: it answers as kube-apiserver does; `tests/conformance/kube` holds both to the same laws.
Rule 2: objects are kept as JSON; what is read is decoded anew, so nobody can change it by accident.
Rule 3: no clock, chance or task of its own: the same calls give the same objects and versions.
"""

from __future__ import annotations

from dovetail.kube.memory.server import MemoryKube

__all__ = ["MemoryKube"]
