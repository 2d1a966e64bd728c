"""columns — what `kubectl get` shows of each kind, as the server has it.

Rule 1: names, order and words are kube-apiserver's; the kubectl session compares them.
Rule 2: a cell is a function of the object and of now.
"""
