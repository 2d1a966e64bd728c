"""pods — acts on pods: evicts them, and tells kube-scheduler where they are meant to go.

`eviction_queue` and `nominations` are control loops; `eviction_counts` stores how often workloads
were evicted, for whoever leads next.
"""
