"""http — the API server in memory, served over HTTP to kubectl and to other processes.

    server      takes requests; `targets` reads their paths, `bodies` what they bring along
    reading     get, list and watch; `tables` and `columns` are what `kubectl get` shows
    writing     create, patch and delete; `fields` checks for unknown fields
    discovery   groups, versions and kinds; `openapi` what they are made of
    kinds       what a real server of this version offers, kept in `surface.json`

Rule 1: it speaks to the server behind it through `kube/seam` alone.
Rule 2: it listens on 127.0.0.1, and asks nobody who they are.
"""
