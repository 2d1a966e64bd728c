"""Makes the errors of the server, in the words of a real one, so that callers react alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from dovetail import api
from dovetail.kube import errors
from dovetail.kube.seam import Ref

INVALID: Final = "Invalid value: "
REQUIRED: Final = "Required value"
_REASONS: Final = (
    (INVALID, "FieldValueInvalid"),
    (REQUIRED, "FieldValueRequired"),
    ("Forbidden: ", "FieldValueForbidden"),
    ("Unsupported value: ", "FieldValueNotSupported"),
    ("Duplicate value: ", "FieldValueDuplicate"),
    ("Too many: ", "FieldValueTooMany"),
    ("Too long: ", "FieldValueTooLong"),
)


def resource(kind: api.Kind) -> str:
    """A kind as messages name it."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def _about(ref: Ref) -> errors.Details:
    return errors.Details(ref.name, ref.kind.group, ref.kind.plural)


def not_found_error(ref: Ref) -> errors.NotFoundError:
    """There is no such object."""
    message = f'{resource(ref.kind)} "{ref.name}" not found'
    return errors.NotFoundError(404, "NotFound", message, _about(ref))


def no_such_resource() -> errors.NotFoundError:
    """There is no such subresource, or the path means nothing."""
    message = "the server could not find the requested resource"
    return errors.NotFoundError(404, "NotFound", message)


def already_exists(ref: Ref) -> errors.AlreadyExistsError:
    """There is one already."""
    message = f'{resource(ref.kind)} "{ref.name}" already exists'
    return errors.AlreadyExistsError(409, "AlreadyExists", message, _about(ref))


def conflict(ref: Ref, why: str) -> errors.ConflictError:
    """Somebody else was there first."""
    message = f'Operation cannot be fulfilled on {resource(ref.kind)} "{ref.name}": {why}'
    return errors.ConflictError(409, "Conflict", message, _about(ref))


def modified_error(ref: Ref) -> errors.ConflictError:
    """The object has changed since it was read."""
    return conflict(
        ref,
        "the object has been modified; please apply your changes to the latest version "
        "and try again",
    )


def invalid(ref: Ref, problems: Sequence[api.FieldProblem]) -> errors.InvalidError:
    """The object breaks rules of its kind; each is named with its field."""
    kind = f"{ref.kind.name}.{ref.kind.group}" if ref.kind.group else ref.kind.name
    causes = tuple(_cause(problem) for problem in problems)
    told = [f"{cause.field}: {cause.message}" for cause in causes]
    stated = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    details = errors.Details(ref.name, ref.kind.group, ref.kind.name, causes)
    message = f'{kind} "{ref.name}" is invalid: {stated}'
    return errors.InvalidError(422, "Invalid", message, details)


def _cause(problem: api.FieldProblem) -> errors.Cause:
    """A problem in the server's words; what has none of these is a value that is not valid."""
    for beginning, reason in _REASONS:
        if problem.message.startswith(beginning):
            return errors.Cause(reason, problem.message, problem.field)
    return errors.Cause("FieldValueInvalid", f"{INVALID}{problem.message}", problem.field)


def bad_request(why: str) -> errors.InvalidError:
    """The request makes no sense."""
    return errors.InvalidError(400, "BadRequest", why)


def no_such_method(method: str) -> errors.InvalidError:
    """That cannot be done there."""
    message = f"the server does not allow this method on the requested resource: {method}"
    return errors.InvalidError(405, "MethodNotAllowed", message)


def no_containers() -> errors.InvalidError:
    """Whoever asks for logs or a shell learns why there are none."""
    message = "pods are only pretended here: there are no containers to read from or to enter"
    return errors.InvalidError(501, "NotImplemented", message)


def unsupported_error(content_type: str) -> errors.InvalidError:
    """The body is written in a way that is not read here."""
    message = f"the body of the request was in an unknown format: {content_type}"
    return errors.InvalidError(415, "UnsupportedMediaType", message)


def unsupported_patch(why: str) -> errors.InvalidError:
    """The patch is written in a way that this kind does not take."""
    return errors.InvalidError(415, "UnsupportedMediaType", why)


def gone_error(version: int, oldest: int) -> errors.GoneError:
    """The history does not reach back that far."""
    return errors.GoneError(410, "Expired", f"too old resource version: {version} ({oldest})")


def expired_token() -> errors.GoneError:
    """The list has changed too much to be continued."""
    return errors.GoneError(
        410, "Expired", "The provided continue parameter is too old to display a consistent list"
    )


def forbidden_error(ref: Ref, why: str) -> errors.ForbiddenError:
    """That may not be done."""
    message = f'{resource(ref.kind)} "{ref.name}" is forbidden: {why}'
    return errors.ForbiddenError(403, "Forbidden", message, _about(ref))


def over_budget(message: str, why: str, seconds: int = 0) -> errors.TooManyRequestsError:
    """Not now: a disruption budget forbids it."""
    after = timedelta(seconds=seconds) if seconds else None
    cause = errors.DISRUPTION_BUDGET
    refusal = errors.TooManyRequestsError(429, "TooManyRequests", message, after, cause)
    refusal.details = errors.Details(causes=(errors.Cause(cause, why),))
    return refusal


def server_error(why: str) -> errors.UnavailableError:
    """The server cannot do that."""
    return errors.UnavailableError(500, "", why)
