"""Sets the default values of a pod: policies, and settings of probes and ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dovetail.apiserver.trees import Obj, at, items, mapping, text
from dovetail.kube.seam import Json

_POD: Final[Obj] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_CONTAINER: Final[Obj] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE: Final[Obj] = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_FILE_MODE: Final = 0o644
_MODED: Final = ("configMap", "secret", "downwardAPI", "projected")


def fill(tree: Obj, defaults: Mapping[str, Json]) -> None:
    """Put in what is not there. The defaults are plain values, which objects may share."""
    for key, value in defaults.items():
        tree.setdefault(key, value)


def fill_pod_spec(spec: Obj) -> None:
    """Complete what a pod is to be, in a pod or in a template."""
    fill(spec, _POD)
    spec.setdefault("securityContext", {})
    for field in ("containers", "initContainers"):
        for volume in items(spec.get(field)):
            _fill_container(mapping(volume))
    for volume in items(spec.get("volumes")):
        _fill_volume(mapping(volume))


def fill_template(tree: Obj, *path: str) -> None:
    """Complete a pod template, where there is one."""
    spec = at(tree, *path, "spec")
    if isinstance(spec, dict):
        fill_pod_spec(spec)


def _fill_container(container: Obj) -> None:
    fill(container, _CONTAINER)
    container.setdefault("resources", {})
    container.setdefault("imagePullPolicy", _pull_policy(text(container, "image")))
    for port in items(container.get("ports")):
        mapping(port).setdefault("protocol", "TCP")
    for field in _PROBES:
        probe = container.get(field)
        if isinstance(probe, dict):
            fill(probe, _PROBE)
            _fill_request(probe)
    for item in items(container.get("env")):
        reference = at(item, "valueFrom", "fieldRef")
        if isinstance(reference, dict):
            reference.setdefault("apiVersion", "v1")


def _fill_request(probe: Obj) -> None:
    request = probe.get("httpGet")
    if isinstance(request, dict):
        request.setdefault("path", "/")
        request.setdefault("scheme", "HTTP")


def _pull_policy(image: str) -> str:
    """An image that may be another tomorrow is fetched every time."""
    name = image.rpartition("/")[2]
    tag = name.partition("@")[0].partition(":")[2]
    is_fixed = "@" in name or tag not in ("", "latest")
    return "IfNotPresent" if is_fixed else "Always"


def _fill_volume(volume: Obj) -> None:
    for field in _MODED:
        source = volume.get(field)
        if isinstance(source, dict):
            source.setdefault("defaultMode", _FILE_MODE)
    path = volume.get("hostPath")
    if isinstance(path, dict):
        path.setdefault("type", "")


def quality_of_service(spec: Obj) -> str:
    """How well a pod is treated when memory is short: by what it asks for, and what it limits."""
    containers = [
        mapping(item)
        for field in ("containers", "initContainers")
        for item in items(spec.get(field))
    ]
    asked = [
        (mapping(at(item, "resources", "requests")), mapping(at(item, "resources", "limits")))
        for item in containers
    ]
    names = ("cpu", "memory")
    if not any(name in each for pair in asked for each in pair for name in names):
        return "BestEffort"
    is_guaranteed = all(
        name in limits and requests.get(name, limits[name]) == limits[name]
        for requests, limits in asked
        for name in names
    )
    return "Guaranteed" if is_guaranteed else "Burstable"
