"""Launching: arrays become launches and placements by name.

In: a finished `Attempt`. Out: planned nodes, each with the offers that a launch lists as fallbacks,
pods by name, and the order in which kube-scheduler will bind them.

Read first: `decode`, `choices`, `fallbacks`.
"""
