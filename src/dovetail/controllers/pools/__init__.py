"""pools — sees to NodePools and to what they can launch.

`loop` writes the status of NodePools, `catalogue` keeps the instance types of each pool with
overlays applied, `capacity_buffers` writes the status of CapacityBuffers. Each is a control loop.
"""
