"""Probing: answers what would happen to the pods of some nodes if those were gone.

In: a whole cluster, prepared once. Out: for any set of its nodes, where their pods would go and
what that costs, exactly (`probe`) or as a quick estimate (`screen`).

Read first: `prepared`, `probe`, `screen`.
"""
