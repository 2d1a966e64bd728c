"""kube — where Kubernetes objects come from: files, directories and standard input for now.

Rule 1: what is read here is checked here, so that every message can name file, document and field.
Rule 2: nothing here knows what an object means to a decision (that is `state`).
"""
