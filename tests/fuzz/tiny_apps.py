"""Random apps for tiny clusters, in the words of scenarios: plausible ones and wild ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from tests.fuzz.tiny_market import DEDICATED, Words, one_in

KEYS: Final = ("hostname", "zone")
NAMES: Final = ("api", "batch", "cache", "db", "etl", "web")
FEWEST_PODS: Final = 2
MOST_PODS: Final = 8
PLAIN_CPU: Final = ("100m", "250m", "500m", "500m", 1, 1, "1500m", 2, 3)
PLAIN_MEMORY: Final = ("128Mi", "256Mi", "512Mi", "1Gi", "1Gi", "2Gi", "4Gi", "7Gi")
WILD_CPU: Final = (0, "50m", "500m", 1, "1900m", 2, 3, "3500m", 7)
WILD_MEMORY: Final = (0, "64Mi", "1Gi", "3Gi", "7Gi", "15Gi")


def _deployed(chance: Random, most_apps: int) -> list[Words]:
    """A few apps without constraints, with 2 to 8 pods together."""
    left = chance.randint(FEWEST_PODS, MOST_PODS)
    found: list[Words] = []
    for name in chance.sample(NAMES, most_apps):
        replicas = min(left, chance.choice((1, 1, 2, 2, 3, 4)))
        if replicas == 0:
            break
        left -= replicas
        found.append({"name": name, "labels": {"app": name}, "replicas": replicas})
    if len(found) == 1 and found[0]["replicas"] == 1:
        found[0]["replicas"] = FEWEST_PODS
    return found


def _term(key: str, app: str) -> Words:
    return {"topology_key": key, "selector": {"app": app}}


# ------------------------------------------------------------------ plausible


def plausible_apps(chance: Random, zones: tuple[str, ...], *, has_taint: bool) -> list[Words]:
    """Apps with none, one or two of the constraints that people write."""
    apps = _deployed(chance, 4)
    for number, one in enumerate(apps):
        one["cpu"], one["memory"] = chance.choice(PLAIN_CPU), chance.choice(PLAIN_MEMORY)
        _constrain(chance, one, [app["name"] for app in apps[:number]], zones)
        if has_taint and one_in(chance, 2):
            one["tolerations"] = [DEDICATED]
    if one_in(chance, 5):
        chance.choice(apps)["priority"] = 100
    if len(apps) > 1 and one_in(chance, 10):
        for one in apps[:2]:  # they want each other on their host
            one["labels"] = {"app": one["name"], "group": "pair"}
            one["affinity"] = [{"topology_key": "hostname", "selector": {"group": "pair"}}]
    return apps


def _constrain(chance: Random, app: Words, others: list[str], zones: tuple[str, ...]) -> None:
    name = app["name"]
    alone: tuple[Callable[[], Words], ...] = (
        lambda: {"spread": [{"topology_key": "zone"}]},
        lambda: {"spread": [{"topology_key": "hostname"}]},
        lambda: {"anti_affinity": [_term(chance.choice(("hostname", *KEYS)), name)]},
        lambda: {"affinity": [_term(chance.choice(KEYS), name)]},
        lambda: {"node_selector": {"zone": chance.choice(zones)}},
        lambda: {"host_ports": [8080]},
    )

    def near() -> Words:
        return {"affinity": [_term(chance.choice(KEYS), chance.choice(others))]}

    def far() -> Words:
        return {"anti_affinity": [_term(chance.choice(KEYS), chance.choice(others))]}

    options = (*alone, near, near, far) if others else alone
    for _ in range(chance.choice((0, 1, 1, 2))):
        app |= chance.choice(options)()
    # Whoever wants its own kind on its host cannot mean to be spread over hosts as well.
    own = _term("hostname", name)
    if own in app.get("affinity", ()):
        app.pop("spread", None)
        app.pop("host_ports", None)
        if app.get("anti_affinity", [{}])[0].get("selector") == {"app": name}:
            del app["anti_affinity"]


# ------------------------------------------------------------------ wild


@dataclass(frozen=True)
class _Wild:
    """Draws constraints of any kind, about any app."""

    chance: Random
    names: list[str]
    zones: tuple[str, ...]
    spice: float

    def maybe(self, share: float) -> bool:
        return self.chance.random() < self.spice * share

    def constraints(self, name: str) -> Words:
        """Any combination of everything."""
        chance = self.chance
        options: tuple[tuple[float, Callable[[], Words]], ...] = (
            (1.0, lambda: {"affinity": self._terms()}),
            (1.0, lambda: {"anti_affinity": self._terms()}),
            (0.7, lambda: {"spread": [self._spread(name)]}),
            (0.4, lambda: {"host_ports": [chance.choice((8080, 8080, 9100))]}),
            (0.5, lambda: {"node_selector": {"zone": chance.choice(self.zones)}}),
            (
                0.2,
                lambda: {"node_selector": {"capacity-type": chance.choice(("spot", "reserved"))}},
            ),
            (0.3, lambda: {"node_affinity": [[f"zone NotIn {chance.choice(self.zones)}"]]}),
        )
        found: Words = {}
        for share, make in options:
            if self.maybe(share):
                found |= make()
        if not one_in(chance, 3):
            found["tolerations"] = [DEDICATED]
        if one_in(chance, 4):
            found["priority"] = chance.choice((10, 100))
        return found

    def _selector(self) -> Words | list[str]:
        match self.chance.randrange(6):
            case 0:
                return {"tier": self.chance.choice(("front", "back"))}
            case 1:
                return [f"app NotIn {self.chance.choice(self.names)}"]
            case _:
                return {"app": self.chance.choice(self.names)}

    def _terms(self) -> list[Words]:
        return [
            {"topology_key": self.chance.choice(KEYS), "selector": self._selector()}
            for _ in range(self.chance.choice((1, 1, 1, 2)))
        ]

    def _spread(self, name: str) -> Words:
        chance = self.chance
        found: Words = {"topology_key": chance.choice(KEYS), "max_skew": chance.choice((1, 1, 2))}
        found["selector"] = self._selector() if one_in(chance, 3) else {"app": name}
        if one_in(chance, 4):
            found["min_domains"] = chance.choice((2, 3))
        if one_in(chance, 6):
            found["node_taints_policy"] = "Honor"
        return found


def wild_apps(chance: Random, zones: tuple[str, ...]) -> list[Words]:
    """Apps with any combination of constraints, about each other and themselves."""
    apps = _deployed(chance, chance.randint(1, 5))
    wild = _Wild(chance, [app["name"] for app in apps], zones, chance.choice((0.1, 0.2, 0.4)))
    for one in apps:
        one["labels"]["tier"] = chance.choice(("front", "back"))
        one["cpu"], one["memory"] = chance.choice(WILD_CPU), chance.choice(WILD_MEMORY)
        one.update(wild.constraints(one["name"]))
    return apps
