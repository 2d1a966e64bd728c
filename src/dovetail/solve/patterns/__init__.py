"""Plans by patterns: which pods share a node, chosen for whole nodes.

The program of `assignment` treats nodes as divisible, so it is weak where nodes are few or large.
Here one column is one node with whole pods on it (a pattern, Gilmore and Gomory's). In order:

    market       sorts of pods, and the nodes that take each, as arrays
    knapsack     the pods that are worth most together on one node
    master       the linear program over the patterns known so far
    generation   patterns that the program lacks, until none would pay
    dive         whole numbers of patterns
    uniform      one sort of pod: the exact optimum, by dynamic programming

In: the sorts and counts of a draft, with what every load costs (`rates`). Out: loads that hold all
of them. Work is counted; the same input gives the same loads.
"""
