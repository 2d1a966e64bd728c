"""nodes — removes Nodes that are being deleted.

`termination` is the control loop: taint, drain, detach volumes, end the instance, let go.
"""
