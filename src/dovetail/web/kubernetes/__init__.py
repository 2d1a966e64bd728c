"""kubernetes — the API server in memory, served over HTTP to kubectl and to other processes.

Rule 1: it answers as kube-apiserver does; `tests/conformance/kube` holds it to the same laws.
Rule 2: it speaks to the server behind it through the seam alone.
Rule 3: it listens on 127.0.0.1, and asks nobody who they are.
"""
