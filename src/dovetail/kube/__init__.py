"""kube — where Kubernetes objects come from and go to: manifests, and a live API.

Rule 1: what is read here is checked here, so that every message can name file, document and field.
Rule 2: nothing here knows what an object means to a decision (that is `state`).
Rule 3: a live API is reached through `seam` alone, so that `apiserver` can stand in for `http`.
"""
