"""Reads a NodeOverlay manifest."""

from __future__ import annotations

from dovetail import api
from dovetail.cloud.overlays import Overlay
from dovetail.cloud.prices import price_change
from dovetail.errors import InputError
from dovetail.model.requirements import requirement
from dovetail.units import quantity


def overlay(manifest: api.NodeOverlay) -> Overlay:
    """The overlay. Raises InputError that names the object and the field."""
    spec, name = manifest.spec, manifest.metadata.name
    try:
        return Overlay(
            name=name,
            weight=spec.weight or 0,
            requirements=tuple(
                requirement(one.key, one.operator, one.values, one.min_values)
                for one in spec.requirements
            ),
            price=price_change(spec.price or "", spec.price_adjustment or ""),
            capacity={key: quantity.amount(key, text) for key, text in spec.capacity.items()},
        )
    except ValueError as error:
        msg = f"NodeOverlay {name}: {error}"
        raise InputError(msg) from None
