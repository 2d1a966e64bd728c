"""disruption — removes nodes that a plan wants gone, with their replacements first.

`loop` is the control loop of disruptions, and deletes surplus claims of static pools.
`replacements` waits until new nodes have started, `disrupted_nodes` taints nodes and puts them
back. `emptying` has the two loops that let nodes empty by themselves. `reporting` writes events,
metrics and logs.
"""
