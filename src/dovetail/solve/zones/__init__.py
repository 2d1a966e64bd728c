"""Zones: pods that rules tie to zones, or to each other, are settled before any node is bought.

In: an `Attempt` without new nodes. Out: the same with a number of pods for each group and zone,
with pods on existing nodes, and with groups that must share a node on one.

Read first: `settle`, `quotas`, `colocate`.
"""
