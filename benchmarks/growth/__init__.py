"""growth — how do time and memory grow with pods, with nodes and with instance types?

`clusters` makes a cluster of any size, `measure` decides about one in a process of its own, `axes`
says which sizes are looked at, `laws` fits a power law, `plots` draws it.
"""
