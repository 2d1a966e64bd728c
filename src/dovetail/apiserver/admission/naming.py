"""What may objects and labels be called? Told in the words of a real server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from dovetail import api
from dovetail.api.poolrules import is_label_key, is_label_value
from dovetail.apiserver.deletion import FOREGROUND, ORPHAN
from dovetail.apiserver.refusals import INVALID
from dovetail.apiserver.trees import Obj, at, items, labels_of, mapping, text, texts

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_SEGMENT: Final = re.compile(r"(?!\.{1,2}$)[^/%]{1,253}")
_FINALIZERS: Final = (FOREGROUND, ORPHAN, "kubernetes")
_RULED_BY_RBAC: Final = "rbac.authorization.k8s.io"
_ENDS: Final = "and must start and end with an alphanumeric character"
_NO_LABEL: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    f"{_ENDS} (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_NO_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    f"'.', {_ENDS} (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_NO_KEY: Final = (
    f"a valid label key must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' "
    "(e.g. 'example.com/MyName')"
)
_NO_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    f"'.', {_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_MOST_OF_LABEL, _MOST_OF_NAME = 63, 253


def metadata_problems(kind: api.Kind, tree: Obj) -> Iterator[api.FieldProblem]:
    """What is wrong with an object's names, labels, finalizers and owners."""
    is_label = (kind.group, kind.name) == ("", "Namespace")
    name = text(tree, "metadata", "name")
    yield from _segment(name) if kind.group == _RULED_BY_RBAC else _name(name, is_label=is_label)
    labels = labels_of(tree, "metadata", "labels")
    yield from _label_problems(tuple(labels.items()))
    if len(labels) != len(mapping(at(tree, "metadata", "labels"))):
        yield api.FieldProblem("metadata.labels", "has a value that is no text; expected text")
    for index, finalizer in enumerate(texts(tree, "metadata", "finalizers")):
        if "/" not in finalizer and finalizer not in _FINALIZERS:
            said = f"{finalizer!r} is not qualified; expected a name such as example.com/hold"
            yield api.FieldProblem(f"metadata.finalizers[{index}]", said)
    references = items(at(tree, "metadata", "ownerReferences"))
    if sum(at(one, "controller") is True for one in references) > 1:
        said = "has two controllers; expected one at most"
        yield api.FieldProblem("metadata.ownerReferences", said)


def _segment(name: str) -> Iterator[api.FieldProblem]:
    if not _SEGMENT.fullmatch(name):
        yield _no_name(name, "may not contain '/' or '%'")


@lru_cache(maxsize=65536)
def _name(name: str, *, is_label: bool) -> tuple[api.FieldProblem, ...]:
    """An object keeps its name as often as it is written."""
    form, said = (_LABEL, _NO_LABEL) if is_label else (_SUBDOMAIN, _NO_SUBDOMAIN)
    most = _MOST_OF_LABEL if is_label else _MOST_OF_NAME
    if len(name) > most:  # first, so that no endless name is matched
        return (_no_name(name, f"must be no more than {most} bytes"),)
    return () if re.fullmatch(form, name) else (_no_name(name, said),)


def _no_name(name: str, why: str) -> api.FieldProblem:
    return api.FieldProblem("metadata.name", f'{INVALID}"{name}": {why}')


@lru_cache(maxsize=65536)
def _label_problems(labels: tuple[tuple[str, str], ...]) -> tuple[api.FieldProblem, ...]:
    """Many objects have the same labels."""
    wrong = [(key, _NO_KEY) for key, _ in labels if not is_label_key(key)]
    wrong += [(value, _NO_VALUE) for _, value in labels if not is_label_value(value)]
    return tuple(
        api.FieldProblem("metadata.labels", f'{INVALID}"{what}": {why}') for what, why in wrong
    )
