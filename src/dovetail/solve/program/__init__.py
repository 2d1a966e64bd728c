"""The linear program: how many nodes of which offer, if pods could be cut into pieces.

In: `Encoded`. Out: `Values`: what a pod of every group is worth in every zone, and which offers are
worth buying. The multipliers of the same program make the proven lower bound.

Read first: `relaxation`, `sifting`, `bound`.
"""
