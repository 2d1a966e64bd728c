"""migration — what would happen if Dovetail took over a cluster from Karpenter.

`check` is pure: it turns the objects of a cluster into findings. `reading` reads the objects.
"""
