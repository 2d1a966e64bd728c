"""state — what the cluster is, put together from what Kubernetes stores.

Rule 1: this is the border. Text becomes integers here, once; past it there are only nouns.
Rule 2: order of input does not matter: everything leaves here sorted by name.
Rule 3: a strange object is no exception: it becomes a noun with a `Problem`.
"""
