"""kube/http — a Kubernetes API over HTTP, on aiohttp; `client.HttpKube` is its front door.

Rule 1: requests are repeated here only where that cannot act twice (`retry`); what is left reaches
        the caller as an error of `kube/errors.py`.
Rule 2: who we are (`kubeconfig`, `in_cluster`, `credentials`, `plugin`) is settled before any
        request is made, and refreshed while it runs.
Rule 3: time and chance are handed in.
"""
