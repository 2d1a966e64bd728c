"""dovetail crds: what must the cluster know before it can store our objects?"""

from __future__ import annotations

from dovetail.cli.output import emit


def crds() -> None:
    """Print the CustomResourceDefinitions as one YAML stream.

    \b
    Example:
      dovetail crds | kubectl apply -f -
    """  # noqa: D301  \b keeps the example's line apart in the help
    from dovetail import app

    emit(app.crds_text())
