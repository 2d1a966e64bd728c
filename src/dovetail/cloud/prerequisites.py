"""Defines what a provider needs in its cloud before it runs: policies and queues, as templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from dovetail.errors import InputError


class CloudParameter(msgspec.Struct, frozen=True):
    """A value that a template needs, as `--set NAME=VALUE` gives it."""

    name: str
    help: str


class TemplateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which template is printed, with which values, and the account that the controller uses."""

    format: str
    values: Mapping[str, str]
    namespace: str
    service_account: str


def _no_template(request: TemplateRequest) -> str:
    msg = (
        f"--cloud: this provider has no template {request.format!r}: it needs nothing in its cloud"
    )
    raise InputError(msg)


class CloudTemplates(msgspec.Struct, frozen=True):
    """The formats in which a provider prints its prerequisites, and the parameters that they take.

    `render` raises InputError for values that it cannot use.
    """

    formats: tuple[str, ...] = ()
    parameters: tuple[CloudParameter, ...] = ()
    render: Callable[[TemplateRequest], str] = _no_template
