"""Where does `apiserver/http/surface.json` come from? A real kube-apiserver is asked for it.

    python tools/make_surface.py

It starts the control plane that tests use (`tests/controlplane`), reads what it offers (discovery)
and what its kinds are made of (OpenAPI), and how they are numbered as protocol buffers (the Go
modules `k8s.io/api` and `k8s.io/apimachinery`). It keeps the facts: names, types, numbers, keys of
lists. What Kubernetes says about them in prose stays there. Run it again for another version of
Kubernetes, and read the diff.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.controlplane import binaries  # noqa: E402  found by the line above
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
    messages = all_messages(resources)
    TARGET.write_text(rendered(resources, {"schemas": schemas, "messages": messages}))
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


def all_messages(resources: list[Tree]) -> dict[str, Any]:
    """Fields by their numbers: name, type, and whether there are many."""
    packages = {
        f"k8s.io.api.{one['group'].split('.')[0] or 'core'}.{one['version']}" for one in resources
    }
    found: dict[str, Any] = {}
    for module in ("k8s.io/api", "k8s.io/apimachinery"):
        command = [binaries.go(), "list", "-m", "-f", "{{.Dir}}", module]
        folder = subprocess.run(
            command, cwd=binaries.HERE, capture_output=True, text=True, check=True
        ).stdout.strip()
        for path in sorted(Path(folder).rglob("generated.proto")):
            text = re.sub(r"//.*", "", path.read_text())
            package = re.findall(r"^package ([\w.]+);", text, re.MULTILINE)[0]
            if package in packages or "apimachinery" in package:
                found |= messages_of(package, text)
    return found


def messages_of(package: str, text: str) -> dict[str, Any]:
    """The messages of one file."""
    found: dict[str, Any] = {}
    for name, body in re.findall(r"^message (\w+) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        fields: Tree = {}
        for how, kind, field, number in re.findall(
            r"^\s*(optional |repeated |map<string, )([\w.]+)>? (\w+) = (\d+);", body, re.MULTILINE
        ):
            fields[number] = [field, full_name(package, kind), how.strip().partition("<")[0]]
        found[f"{package}.{name}"] = fields
    return found


def full_name(package: str, kind: str) -> str:
    """A type as other files name it."""
    if kind.startswith("."):
        return kind[1:]
    return kind if kind[0].islower() else f"{package}.{kind}"


def rendered(resources: list[Tree], parts: dict[str, dict[str, Any]]) -> str:
    """One line for each, so that a diff can be read."""
    first = ",\n".join(json.dumps(one, sort_keys=True) for one in resources)
    rest = [f'"resources": [\n{first}\n]']
    for part, held in parts.items():
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(held[name])}" for name in sorted(held))
        rest.append(f'"{part}": {{\n{lines}\n}}')
    return "{" + ",\n".join(rest) + "}\n"


if __name__ == "__main__":
    main()
