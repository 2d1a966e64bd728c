"""benchmarks — how fast, how cheap, how large? Generated clusters, measured, never stored.

Rule 1: a scenario is a function of its size and a seed; two runs see the same cluster.
Rule 2: a figure in `docs/benchmarks.md` comes from `python -m benchmarks` and from nowhere else.
"""
