"""Answers access reviews: everybody may do everything, as an administrator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail.apiserver.http.kinds import Offered
from dovetail.kube.seam import Json

Obj = dict[str, Json]

_USER: Final = "dovetail"
_ALLOWED: Final[Obj] = {"allowed": True}
_RULES: Final[Obj] = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_ANSWERS: Final[Mapping[str, Obj]] = {
    "SelfSubjectAccessReview": _ALLOWED,
    "SubjectAccessReview": _ALLOWED,
    "LocalSubjectAccessReview": _ALLOWED,
    "SelfSubjectRulesReview": _RULES,
    "SelfSubjectReview": {"userInfo": {"username": _USER}},
    "TokenReview": {"authenticated": False},
}


def answered(offered: Offered, body: Obj) -> bytes | None:
    """The review with its answer; None for kinds that are no question."""
    status = _ANSWERS.get(offered.kind.name)
    if status is None:
        return None
    identity: Obj = {"kind": offered.kind.name, "apiVersion": offered.kind.api_version}
    return msgspec.json.encode({**body, **identity, "status": status})
