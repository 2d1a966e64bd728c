"""dovetail catalog: prints the instance types and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import Output, align, emit, say

if TYPE_CHECKING:
    from dovetail.model.instance import InstanceType
    from dovetail.present.catalogue import TypeRow

_COLUMNS = ("type", "cpu", "memory", "arch", "devices", "on-demand $/h", "spot $/h")
_WIDE_COLUMNS = ("max pods", "zones")
_NUMBERS = ("cpu", "memory", "on-demand $/h", "spot $/h", "max pods")


def catalog(  # noqa: PLR0913  typer reads one flag from each argument
    *,
    catalog: options.Catalog = "generic",
    output: options.OutputForm = Output.TABLE,
    family: Annotated[
        str, typer.Option("--family", help="Only this family, such as m7g.", show_default=False)
    ] = "",
    arch: Annotated[
        str, typer.Option("--arch", help="Only amd64 or arm64.", show_default=False)
    ] = "",
    min_cpu: Annotated[
        str, typer.Option("--min-cpu", metavar="QUANTITY", help="At least so many cores.")
    ] = "0",
    min_memory: Annotated[
        str, typer.Option("--min-memory", metavar="QUANTITY", help="At least so much, as 64Gi.")
    ] = "0",
    resource: Annotated[
        str,
        typer.Option("--resource", help="Only types with this resource, such as nvidia.com/gpu."),
    ] = "",
) -> None:
    """Show instance types and prices.

    `-o json` prints the kwok format, which `--catalog FILE` of every command reads back.

    \b
    Examples:
      dovetail catalog --catalog aws --family m7g
      dovetail catalog --catalog aws --resource nvidia.com/gpu -o wide
      dovetail catalog --catalog aws -o json > my-types.json
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail import app
    from dovetail.present.catalogue import Wanted, matches

    wanted = Wanted(
        family=family,
        arch=arch,
        min_cpu_millis=_amount("cpu", min_cpu, "--min-cpu"),
        min_memory_bytes=_amount("memory", min_memory, "--min-memory"),
        resource=resource,
    )
    types = matches(app.instance_types(catalog), wanted)
    notes = app.price_notes([catalog])
    if output in {Output.TABLE, Output.WIDE}:
        emit(_table(types, is_wide=output is Output.WIDE))
        emit("".join(f"Note: {note}\n" for note in notes))
        return
    for note in notes:
        say(f"Note: {note}")
    emit(_data(types, output))


def _amount(resource: str, text: str, flag: str) -> int:
    from dovetail.units import quantity

    try:
        return quantity.amount(resource, text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=flag) from None


def _table(types: tuple[InstanceType, ...], *, is_wide: bool) -> str:
    from dovetail.present.catalogue import type_row

    columns = (*_COLUMNS, *(_WIDE_COLUMNS if is_wide else ()))
    rows = [_cells(type_row(instance_type), is_wide=is_wide) for instance_type in types]
    return align(columns, rows, right=_NUMBERS)


def _cells(row: TypeRow, *, is_wide: bool) -> list[str]:
    from dovetail.present.table import gibibytes
    from dovetail.units import quantity

    cells = [
        row.name,
        quantity.render("cpu", row.cpu_millis),
        gibibytes(row.memory_bytes),
        row.arch,
        ", ".join(f"{amount} {name}" for name, amount in row.devices),
        _price(row.on_demand_nanousd),
        _price(row.spot_nanousd),
    ]
    return [*cells, str(row.max_pods), ", ".join(row.zones)] if is_wide else cells


def _price(nanousd: int | None) -> str:
    from dovetail.present.table import price

    return "" if nanousd is None else price(nanousd).removeprefix("$")


def _data(types: tuple[InstanceType, ...], output: Output) -> str:
    from dovetail import app

    text = app.catalogue_text(types)
    if output is Output.JSON:
        return text
    import msgspec

    from dovetail.cli.output import yaml_text

    return yaml_text(msgspec.json.decode(text, type=list[dict[str, object]]))
