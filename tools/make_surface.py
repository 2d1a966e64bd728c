"""Where does `web/kubernetes/surface.json` come from? A real kube-apiserver is asked, and this writes.

    python tools/make_surface.py

It starts the control plane that tests use (`tests/controlplane`), reads what it offers (discovery)
and what its kinds are made of (OpenAPI), and keeps the facts: names, types, keys of lists. What
Kubernetes says about them in prose stays there. Run it again for another version of Kubernetes,
and read the diff.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.controlplane.plane import ControlPlane, running  # noqa: E402  found by the line above

TARGET: Final = ROOT / "src" / "dovetail" / "web" / "kubernetes" / "surface.json"
PROSE: Final = ("description", "example", "externalDocs")
REFERENCE: Final = "#/components/schemas/"

Tree = dict[str, Any]


def main() -> None:
    """Ask and write."""
    with running(schedules=False) as plane:
        resources = [one for version in versions(plane) for one in offered(plane, version)]
        schemas = all_schemas(plane)
    TARGET.write_text(rendered(resources, schemas))
    print(f"{TARGET.relative_to(ROOT)}: {len(resources)} resources, {len(schemas)} schemas")


def asked(plane: ControlPlane, path: str) -> Tree:
    """What the server answers at a path."""
    answer: Tree = json.loads(plane.kubectl("get", "--raw", path))
    return answer


def versions(plane: ControlPlane) -> list[tuple[str, str]]:
    """Every group and version, those that clients should prefer first."""
    groups = asked(plane, "/apis")["groups"]
    found = [(one["name"], each["version"]) for one in groups for each in one["versions"]]
    return [("", "v1"), *found]


def offered(plane: ControlPlane, version: tuple[str, str]) -> list[Tree]:
    """The kinds of one version, each with the parts that can be asked for on their own."""
    group, name = version
    path = f"/apis/{group}/{name}" if group else f"/api/{name}"
    found: dict[str, Tree] = {}
    for one in asked(plane, path)["resources"]:
        whole, _, part = one.pop("name").partition("/")
        one.pop("storageVersionHash", None)
        if part:
            del one["singularName"], one["namespaced"]
            found.setdefault(whole, {}).setdefault("parts", {})[part] = one
        else:
            head = {"group": group, "version": name, "plural": whole}
            found[whole] = {**head, **one, **found.get(whole, {})}
    return [one for one in found.values() if "kind" in one]


def all_schemas(plane: ControlPlane) -> dict[str, Tree]:
    """What every kind is made of, by the name of its type."""
    found: dict[str, Tree] = {}
    for said in asked(plane, "/openapi/v3")["paths"].values():
        document = asked(plane, said["serverRelativeURL"])
        for name, schema in document.get("components", {}).get("schemas", {}).items():
            found[name] = bare(schema)
    return found


def bare(schema: Tree) -> Tree:
    """A schema without prose."""
    kept: Tree = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: bare(one) for name, one in value.items()}
        elif key in {"items", "additionalProperties"} and isinstance(value, dict):
            kept[key] = bare(value)
        elif key in {"allOf", "oneOf", "anyOf"}:
            kept[key] = [bare(one) for one in value]
        elif key == "$ref":
            kept[key] = value.removeprefix(REFERENCE)
        elif key not in PROSE:
            kept[key] = value
    return kept


def rendered(resources: list[Tree], schemas: dict[str, Tree]) -> str:
    """One line for each, so that a diff can be read."""
    first = ",\n".join(json.dumps(one, sort_keys=True) for one in resources)
    second = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(schemas[name], sort_keys=True)}"
        for name in sorted(schemas)
    )
    return f'{{"resources": [\n{first}\n],\n"schemas": {{\n{second}\n}}}}\n'


if __name__ == "__main__":
    main()
