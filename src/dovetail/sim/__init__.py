"""sim — worlds in which a cluster seems to live: kubelets, a scheduler, workload controllers.

Rule 1: stand-ins speak to the API alone, as the real ones do; nobody can tell them apart by it.
Rule 2: time and chance are handed in, so that hours pass in milliseconds and runs repeat.
Rule 3: they follow by watches and never poll.
"""
