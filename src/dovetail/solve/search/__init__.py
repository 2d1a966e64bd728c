"""Search: other plans for the same pods, of which the cheapest is kept.

In: an `Attempt`. Out: another one, if it is cheaper or has fewer nodes. Small plans try other zones
and other loads of nodes; `solve.patterns` and `solve.exact` are part of this stage.

Read first: `portfolio`, `rates`, `fewer_nodes`.
"""
