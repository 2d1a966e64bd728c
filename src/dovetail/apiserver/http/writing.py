"""Creates, changes and deletes objects over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from aiohttp import web

from dovetail import api
from dovetail.apiserver import refusals
from dovetail.apiserver.http import fields
from dovetail.apiserver.http.bodies import deletion, deletion_in, manner_of, object_in, patch_in
from dovetail.apiserver.http.kinds import Offered, Target
from dovetail.apiserver.http.reading import answer, scope_of
from dovetail.apiserver.trees import Obj, mapping
from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Deletion, Json, Patch, PatchType, Ref, Servable

_BINDING: Final = api.Kind("", "v1", "Binding", "bindings", api.Object)
_PATCHED: Final = ("", "status", "scale")
_ALLOWED: Final[Obj] = {"allowed": True}
_RULES: Final[Obj] = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_REVIEWS: Final[Mapping[str, Obj]] = {
    "SelfSubjectAccessReview": _ALLOWED,
    "SubjectAccessReview": _ALLOWED,
    "LocalSubjectAccessReview": _ALLOWED,
    "SelfSubjectRulesReview": _RULES,
    "SelfSubjectReview": {"userInfo": {"username": "dovetail"}},
    "TokenReview": {"authenticated": False},
}


class Writing:
    """Answers what is written. Every call may raise `ApiError`."""

    def __init__(self, kube: Servable) -> None:
        self._kube = kube

    async def post(self, request: web.Request, target: Target) -> web.StreamResponse:
        """Make an object, bind a pod, or evict one."""
        kube = self._kube.on_behalf(manner_of(request))
        body = await object_in(request)
        if not target.name:
            review = _review_answer(target.offered, body)
            if review is not None:
                return answer(review, 201)
            sound, warnings = _check_fields(request, target, body)
            return answer(await kube.create(target.kind, sound, target.namespace), 201, warnings)
        if target.kind.name != "Pod":
            raise refusals.no_such_method(request.method)
        if target.subresource == "binding":
            meta = {**mapping(body.get("metadata")), "name": target.name}
            bound = {**body, "metadata": meta}
            return answer(await kube.create(_BINDING, bound, target.namespace), 201)
        if target.subresource == "eviction":
            await kube.evict(target.ref, deletion(mapping(body.get("deleteOptions"))))
            return answer(_success(target.ref, code=201), 201)
        raise refusals.no_such_method(request.method)

    async def patch(self, request: web.Request, target: Target) -> web.StreamResponse:
        """Change an object, or apply one that is not there yet."""
        kube = self._kube.on_behalf(manner_of(request))
        if not target.name or target.subresource not in _PATCHED:
            raise refusals.no_such_resource()
        asked = await patch_in(request, target.subresource)
        is_new = asked.type is PatchType.APPLY and await self._existing(target.ref) is None
        warnings: tuple[str, ...] = ()
        if isinstance(asked.body, Mapping) and target.subresource != "scale":
            _check_declared(target, asked)
            sound, warnings = _check_fields(request, target, dict(asked.body), asked)
            asked = msgspec.structs.replace(asked, body=sound)
        made = await kube.patch(target.ref, asked)
        return answer(made, 201 if is_new else 200, warnings)

    async def put(self, request: web.Request, target: Target) -> web.StreamResponse:
        """Replace an object, which the seam knows as a patch of all of it."""
        manner = manner_of(request)
        if not target.name or target.subresource not in _PATCHED:
            raise refusals.no_such_resource()
        body = await object_in(request)
        warnings: tuple[str, ...] = ()
        if target.subresource != "scale":
            body, warnings = _check_fields(request, target, body)
        whole: list[Json] = [{"op": "replace", "path": "", "value": body}]
        asked = Patch(whole, PatchType.JSON, target.subresource, manner.manager)
        return answer(await self._kube.on_behalf(manner).patch(target.ref, asked), 200, warnings)

    async def delete(self, request: web.Request, target: Target) -> web.StreamResponse:
        """Delete an object, or all that a scope means."""
        kube = self._kube.on_behalf(manner_of(request))
        if target.subresource:
            raise refusals.no_such_method(request.method)
        how = await deletion_in(request)
        if not target.name:
            return await self._delete_all(request, target, how)
        before = await kube.get(target.ref)
        await kube.delete(target.ref, how)
        left = await self._existing(target.ref)
        if left is not None and _uid(left) == _uid(before):
            return answer(left)
        return answer(_success(target.ref, uid=_uid(before)))

    async def _delete_all(
        self, request: web.Request, target: Target, how: Deletion
    ) -> web.StreamResponse:
        kube = self._kube.on_behalf(manner_of(request))
        page = await kube.list(scope_of(target, request.query))
        for raw in page.items:
            meta = api.decode(api.Object, raw).metadata
            try:
                await kube.delete(Ref(target.kind, meta.name, meta.namespace), how)
            except NotFoundError:
                continue  # somebody else was faster
        return answer(_success(Ref(target.kind, "", target.namespace)))

    async def _existing(self, ref: Ref) -> msgspec.Raw | None:
        try:
            return await self._kube.get(ref)
        except NotFoundError:
            return None


def _check_fields(
    request: web.Request, target: Target, body: Obj, patch: Patch | None = None
) -> tuple[Obj, tuple[str, ...]]:
    """An object or a patch without unknown fields, and warnings of them. Raises InvalidError."""
    how = request.query.get("fieldValidation", "")
    sifted = fields.sift(body, target.offered)
    if how == fields.STRICT and sifted.unknown:
        if patch is not None:
            raise fields.strict_patch_error(sifted.unknown, patch)
        raise fields.strictly(sifted.unknown, target.offered)
    told = () if how == fields.IGNORE else sifted.unknown
    return sifted.tree, tuple(f'unknown field "{path}"' for path in told)


def _check_declared(target: Target, asked: Patch) -> None:
    """What is applied has no unknown fields, whatever the client says. Raises ApiError."""
    if asked.type is PatchType.APPLY and isinstance(asked.body, Mapping):
        where = f"{target.namespace}/{target.name}"
        refusal = fields.undeclared_error(where, dict(asked.body), target.offered)
        if refusal is not None:
            raise refusal


def _review_answer(offered: Offered, body: Obj) -> bytes | None:
    """An access review with its answer, by which everybody may do everything, as an administrator;
    None for kinds that are no question.
    """
    status = _REVIEWS.get(offered.kind.name)
    if status is None:
        return None
    identity: Obj = {"kind": offered.kind.name, "apiVersion": offered.kind.api_version}
    return msgspec.json.encode({**body, **identity, "status": status})


def _uid(raw: msgspec.Raw) -> str:
    return api.decode(api.Object, raw).metadata.uid


def _success(ref: Ref, *, uid: str = "", code: int = 200) -> bytes:
    details = {"name": ref.name, "group": ref.kind.group, "kind": ref.kind.plural, "uid": uid}
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
        "code": code,
    }
    return msgspec.json.encode(status)
