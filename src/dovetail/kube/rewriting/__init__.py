"""kube.rewriting — manifests with some of their objects changed, and everything else as it was.

`layout` finds where the values of a YAML document stand, `rendering` writes a changed object with
the lines and comments of its source, `files` does both for whole files.
"""
