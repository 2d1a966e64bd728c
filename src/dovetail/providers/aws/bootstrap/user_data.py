"""Computes the user data of instances: the text, before base64, that makes them join."""

from __future__ import annotations

from typing import Final, assert_never

import msgspec

from dovetail.providers.aws.bootstrap.amazon_linux import al2
from dovetail.providers.aws.bootstrap.bottlerocket import bottlerocket, ignored_settings
from dovetail.providers.aws.bootstrap.families import Family
from dovetail.providers.aws.bootstrap.inputs import BootstrapInputs, UserDataError
from dovetail.providers.aws.bootstrap.nodeadm import al2023
from dovetail.providers.aws.bootstrap.windows import windows

__all__ = [
    "SIZE_LIMIT",
    "BootstrapInputs",
    "UserDataError",
    "UserDataSize",
    "ignored_settings",
    "user_data",
    "user_data_size",
]

SIZE_LIMIT: Final = 16384  # bytes that EC2 accepts, before base64
_NEAR_LIMIT: Final = 0.9


class UserDataSize(msgspec.Struct, frozen=True, gc=False):
    """How large user data is, in bytes before base64."""

    n_bytes: int

    @property
    def exceeds_limit(self) -> bool:
        """Whether EC2 rejects it."""
        return self.n_bytes > SIZE_LIMIT

    @property
    def is_near_limit(self) -> bool:
        """Whether it is worth a warning: at least 90 percent of what EC2 accepts."""
        return self.n_bytes >= SIZE_LIMIT * _NEAR_LIMIT


def user_data(family: Family, inputs: BootstrapInputs) -> str:
    """The text for an image of this family. Raises UserDataError, which names the field."""
    match family:
        case Family.AL2:
            return al2(inputs)
        case Family.AL2023:
            return al2023(inputs)
        case Family.BOTTLEROCKET:
            return bottlerocket(inputs)
        case Family.WINDOWS2019 | Family.WINDOWS2022 | Family.WINDOWS2025:
            return windows(inputs)
        case Family.CUSTOM:
            return inputs.custom or ""
        case _:
            assert_never(family)


def user_data_size(text: str) -> UserDataSize:
    """How large this user data is."""
    return UserDataSize(len(text.encode()))
