"""peers — what the reference's own scheduler decides about the same clusters, and how fast.

`scenario` writes a cluster down, `reference` has the Go program of `karpenter/` answer it.
"""
