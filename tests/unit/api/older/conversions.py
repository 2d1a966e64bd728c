"""Converts a few manifests for a test, and says what came of them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import yaml

from dovetail.api.older.door import ConversionOptions
from dovetail.api.older.draft import path_of, value_at
from dovetail.api.older.engine import Engine
from dovetail.providers.aws.older.door import OLDER

Tree = dict[str, Any]

PROFILE: Final = "instanceProfile: nodes"
CLASS: Final = """
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata: {name: default}
spec: {amiFamily: AL2, role: nodes, subnetSelectorTerms: [{id: subnet-1}],
  securityGroupSelectorTerms: [{id: sg-1}], metadataOptions: {httpPutResponseHopLimit: 1}}
"""


class Converted(NamedTuple):
    """Objects after conversion in their order, and notices as "kind name: field: message"."""

    trees: list[Tree]
    notices: list[str]
    errors: list[str]

    def value(self, kind: str, path: str, name: str = "") -> Any:
        """A field of the first object of a kind, or of the one that has this name."""
        for tree in self.trees:
            if tree["kind"] == kind and name in ("", tree["metadata"]["name"]):
                return value_at(tree, path_of(path))
        return None


def converted(text: str, **options: Any) -> Converted:
    """What becomes of a stream of manifests."""
    sources = [tree for tree in yaml.safe_load_all(text) if tree]
    outcomes = Engine([OLDER], ConversionOptions(**options)).convert(sources)
    told: dict[bool, list[str]] = {False: [], True: []}
    for source, outcome in zip(sources, outcomes, strict=True):
        for notice in outcome.notices:
            title = f"{source['kind']} {source['metadata']['name']}"
            told[notice.is_error].append(f"{title}: {notice.field}: {notice.message}")
    trees = [one.tree for outcome in outcomes for one in (outcome.object, *outcome.added)]
    return Converted(trees, told[False], told[True])


def provisioner(spec: str, *, name: str = "p", metadata: str = "") -> str:
    """A Provisioner with a node template that is elsewhere."""
    meta = f"{{name: {name}{', ' + metadata if metadata else ''}}}"
    return f"""
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {meta}
spec: {{{spec}}}
---
"""


def template(spec: str = "", *, identity: str = PROFILE) -> str:
    """An AWSNodeTemplate."""
    fields = ", ".join(part for part in (identity, spec) if part)
    return f"""
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {{name: default}}
spec: {{{fields}}}
---
"""


def pool(template_spec: str = "", spec: str = "", *, name: str = "p", metadata: str = "") -> str:
    """A NodePool of v1beta1."""
    meta = f"{{name: {name}{', ' + metadata if metadata else ''}}}"
    inner = ", ".join(part for part in (REFERENCE, "requirements: []", template_spec) if part)
    outer = f", {spec}" if spec else ""
    return f"""
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {meta}
spec: {{template: {{spec: {{{inner}}}}}{outer}}}
---
"""


REFERENCE: Final = (
    "nodeClassRef: {apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: default}"
)


def node_class(spec: str) -> str:
    """An EC2NodeClass of v1beta1 with a hop limit of its own."""
    return f"""
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata: {{name: default}}
spec: {{{spec}}}
---
"""
