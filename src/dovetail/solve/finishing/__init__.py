"""Finishing: pods that are left over, heavier pools, smaller nodes, preferences.

In: an `Attempt`. Out: the same, with pods placed one by one by kube-scheduler's rules, higher
priority first, and with every node no larger than it must be. Nobody loses a place but to a pod of
higher priority.

Read first: `rescue`, `priority`, `rightsize`.
"""
