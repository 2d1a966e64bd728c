"""apiserver — a Kubernetes API server in memory: the stand-in for tests, simulations and the demo.

It answers create, get, list, watch, patch, delete, evict and bind as kube-apiserver does, including
defaults, validation, field ownership and custom resource definitions. `tests/conformance/kube`
holds both to the same laws. It is no part of a production install: there `kube/http` speaks to the
real server.

It has no etcd, no authentication, no webhooks and no controllers. Owned objects are deleted when
the caller asks for it (`collect_garbage`); kubelets, a scheduler and workload controllers are in
`sim`.

    server      the API, as `kube/seam` describes it
    creation, updating, deletion, binding, eviction, garbage, reading
                one module for each kind of request
    storage     all objects and their versions; `table` is one kind
    admission   defaults and validation
    patches     merge, strategic merge and JSON patches, server-side apply
    http        the same API for kubectl and for other processes

Rule 1: objects are kept as JSON; what is read is decoded anew, so nobody can change it by accident.
Rule 2: no clock, chance or task of its own: the same calls give the same objects and versions.
"""

from __future__ import annotations

from dovetail.apiserver.server import MemoryKube
