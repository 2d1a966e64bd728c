"""state — what the cluster is, put together from what Kubernetes stores.

Rule 1: this is the border. Text becomes integers here, once; past it there are only nouns.
Rule 2: order of input does not matter: everything leaves here sorted by name.
Rule 3: a pod that makes no sense, or whose references are missing, becomes a pod with a `Problem`.
"""
