"""api.older — manifests of earlier versions of Karpenter's API, and how they become v1.

A conversion is pure: objects as they were read go in, objects of v1 and notices come out. Nothing
here knows YAML; `kube.rewriting` keeps the comments. `engine` is the entrance, `door` says what a
provider brings for its own kinds.
"""
