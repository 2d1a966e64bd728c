"""solve — which nodes, and which pod on which? Arrays in, arrays out, exact integers.

The only package that imports NumPy. `solve(problem) -> Solution` is its face. One law per file:

    offers       what can be bought: (pool, type, offering, label choice) rows
    columns      which rows and nodes an expression admits
    groups       pods alike in everything that scheduling can see
    terms        constraints between pods: near, apart, spread, ports
    encode       all of it as arrays
    hopeless     pods that nothing could ever take
    assignment   how many nodes of which offer, as a linear program
    quotas       constraints over zones become a count for each (group, cell)
    bins         nodes being filled: what is free, who excludes whom
    packing      new nodes: bins from the program, balanced filling, tail
    rescue       whatever is left, tried one at a time by kube-scheduler's own rules
    promote      a place in a heavier pool for whoever got one in a lighter pool
    rates        what a node for just these pods costs
    improve      take nodes out, place their pods again, keep what is cheaper
    greedy       one pod after another, the reference's way
    portfolio    small puzzles: other zones for one group after another, the cheapest plan
    patterns     which pods share a node, chosen for whole nodes: cheaper plans, tighter bounds
    exact        a handful of pods: everything is tried
    ranking      which of two plans is better
    bound        a proof of what nobody can beat
    priced       nodes that have a price of their own
    appraisal    what every pod of a whole cluster is worth
    screen       which nodes of it could go, estimated
    decode       arrays back to nouns
    prepared     tables of a cluster, for many questions about nodes that go
    relations    the terms of all its pods, and whom they select where
    probing      where pods would go if their nodes were gone
    company      who is bound before whom, where pods want company on their node
    starting     pods that can be bound only as the first of their kind
"""

from __future__ import annotations

from dovetail.solve.appraisal import Appraisal, appraisal
from dovetail.solve.prepared import THOROUGH, Manner, Prepared, prepare
from dovetail.solve.priced import solve
from dovetail.solve.probing import solve_without
from dovetail.solve.puzzle import PlannedNode, Puzzle, Solution
from dovetail.solve.screen import Estimate, Screen

__all__ = [
    "THOROUGH",
    "Appraisal",
    "Estimate",
    "Manner",
    "PlannedNode",
    "Prepared",
    "Puzzle",
    "Screen",
    "Solution",
    "appraisal",
    "prepare",
    "solve",
    "solve_without",
]
