"""lifecycle — computes what comes next for one NodeClaim, Node or NodePool.

In: an object as it is now, what it depends on, and the present moment. Out: a `Step`, which says
what to write, what to do, what to tell and when to look again. Nothing here acts. `claim.py` runs
the whole life of a NodeClaim; start there.
"""
