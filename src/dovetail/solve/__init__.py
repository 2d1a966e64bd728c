"""solve: chooses nodes for pending pods, and a node for each pod, with a proven lower bound.

Arrays in, arrays out, exact integers: the only package that imports NumPy. `solve(puzzle) ->
Solution` is its face, and `pipeline` reads as the algorithm. The folders are its stages:

    puzzle       what is asked and what is answered, without arrays
    encoding     pods, nodes and pools become arrays
    program      a linear program: which offers to buy, what pods are worth, the lower bound
    zones        pods tied to zones or to each other are settled first
    packing      whole nodes, filled with whole pods
    search       other plans for the same pods, of which the cheapest is kept
    patterns     search for plans by which pods share a node; a tighter bound
    exact        search for a handful of pods: everything is tried
    finishing    left-over pods one by one, priorities, heavier pools, smaller nodes, preferences
    launching    arrays become launches and placements by name
    probing      the same questions about a cluster without some of its nodes
    kernel       compiled loops, each with a plain form that gives the same answers
    priced       nodes that have a price of their own
    axes         what the letters at the end of an array's name mean
"""

from __future__ import annotations

from dovetail.solve.priced import solve
from dovetail.solve.probing.prepared import THOROUGH, Prepared, ProbeOptions, prepare
from dovetail.solve.probing.probe import solve_without
from dovetail.solve.probing.screen import Estimate, Screen
from dovetail.solve.program.appraisal import Appraisal, appraisal
from dovetail.solve.puzzle import PlannedNode, Puzzle, Solution

__all__ = [
    "THOROUGH",
    "Appraisal",
    "Estimate",
    "PlannedNode",
    "Prepared",
    "ProbeOptions",
    "Puzzle",
    "Screen",
    "Solution",
    "appraisal",
    "prepare",
    "solve",
    "solve_without",
]
