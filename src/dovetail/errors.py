"""Defines the errors of the edge, in one tree; the core gives reasons instead."""

from __future__ import annotations


class DovetailError(Exception):
    """Anything that Dovetail itself reports as gone wrong."""


class InputError(DovetailError):
    """The input is at fault. The command line prints the message and exits with 2."""


class PluginWarning(UserWarning):
    """A provider is installed that cannot be loaded; commands that do not need it go on."""
