from __future__ import annotations

import msgspec
import pytest

from dovetail import labels
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.model.requirements import Requirements, requirement
from dovetail.solve.encoding.encode import encode
from dovetail.solve.encoding.offers import (
    MAX_CHOICES,
    MAX_REMEMBERED,
    OfferTable,
    definite,
    may_carry,
    mentions,
    open_market,
    pool_requirements,
)
from dovetail.testing.builders import instance_type, node_pool
from tests.unit.solve.puzzles import random_puzzle

TEAM = "example.com/team"
PLAIN = instance_type("plain", zones=("a",))


def market(pool: NodePool, *said: tuple[str, str, list[str]]) -> OfferTable:
    """What a pool sells of the plain type, when pods say this of labels."""
    heard = mentions([requirement(*one) for one in said], ())
    return open_market((pool,), {pool.name: (PLAIN,)}, heard)


def teams(pool: NodePool, *said: tuple[str, str, list[str]]) -> set[str | None]:
    """The values of the team label that can be had."""
    found = market(pool, *said)
    return {dict(found.choices[one.choice]).get(TEAM) for one in found.offers}


def test_labels_that_nobody_mentions_are_not_told_apart() -> None:
    """A pool of three teams sells one thing if no pod asks for a team."""
    pool = node_pool(requirements=[f"{TEAM} In blue, green, red"])
    assert len(market(pool).offers) == 1
    assert market(pool).choices == ((),)


def test_an_open_label_gets_a_value_for_each_choice() -> None:
    """The pool lists three, so each can be had."""
    pool = node_pool(requirements=[f"{TEAM} In blue, green, red"])
    assert teams(pool, (TEAM, "In", ["blue"])) == {"blue", "green", "red"}


def test_a_pool_that_wants_any_value_gets_those_that_pods_name_and_one_more() -> None:
    """The other one is for pods that name none of them."""
    pool = node_pool(requirements=[f"{TEAM} Exists"])
    assert teams(pool, (TEAM, "In", ["blue", "other"])) == {"blue", "other", "other-0"}


def test_a_value_that_the_pool_rules_out_cannot_be_had() -> None:
    """NotIn allows any other value, and no label at all."""
    pool = node_pool(requirements=[f"{TEAM} NotIn blue"])
    assert teams(pool, (TEAM, "In", ["blue", "red"])) == {"red", "other", None}


def test_a_label_that_must_not_exist_is_absent() -> None:
    """Its value is definite: none."""
    pool = node_pool(requirements=[f"{TEAM} DoesNotExist"])
    assert teams(pool, (TEAM, "In", ["blue"])) == {None}


def test_bounds_are_met_by_the_values_that_are_chosen() -> None:
    """Between 3 and 8, the mentioned 5 and one number more."""
    pool = node_pool(requirements=["size Gt 2", "size Lt 9"])
    found = market(pool, ("size", "In", ["5", "12"]))
    values = {dict(found.choices[one.choice])["size"] for one in found.offers}
    assert values == {"5", "3"}


def test_an_upper_bound_alone_leaves_a_number_below_it() -> None:
    """There is one that no pod names."""
    pool = node_pool(requirements=["size Lt 3"])
    found = market(pool, ("size", "In", ["2", "1"]))
    values = {dict(found.choices[one.choice])["size"] for one in found.offers}
    assert {"1", "2"} < values
    assert all(value is not None and int(value) < 3 for value in values)


def test_no_more_choices_are_opened_than_can_be_looked_at() -> None:
    """Three labels of twenty values would make eight thousand."""
    keys = [f"example.com/{name}" for name in "xyz"]
    listed = ", ".join(f"v{n}" for n in range(20))
    pool = node_pool(requirements=[f"{key} In {listed}" for key in keys])
    found = market(pool, *((key, "In", ["v1"]) for key in keys))
    assert len(found.offers) == MAX_CHOICES


def test_a_type_with_several_values_sells_each_of_them() -> None:
    """It can be had with either system, and the pool narrows that."""
    kind = instance_type("both", zones=("a",), labels={"os": ["linux", "windows"]})
    said = mentions([requirement(labels.OS, "In", ["linux"])], ())
    for words, want in (([], {"linux", "windows"}), (["os In linux"], {None})):
        found = open_market((node_pool(requirements=words),), {"default": (kind,)}, said)
        chosen = [dict(found.choices[one.choice]).get(labels.OS) for one in found.offers]
        assert set(chosen) == want


@pytest.mark.parametrize(
    ("words", "n_offers"),
    [
        pytest.param(["zone In a"], 1, id="a zone it has"),
        pytest.param(["zone In z"], 0, id="a zone it has not"),
        pytest.param(["zone NotIn a"], 0, id="any other zone"),
        pytest.param(["capacity-type In spot"], 0, id="a capacity type it has not"),
        pytest.param(["example.com/rack In r1"], 1, id="a label that only the pool states"),
        pytest.param([f"{labels.RESERVATION_ID} DoesNotExist"], 1, id="none of it is reserved"),
    ],
)
def test_a_pool_sells_what_agrees_with_its_requirements(words: list[str], n_offers: int) -> None:
    """Type and offering must both be compatible."""
    assert len(market(node_pool(requirements=words)).offers) == n_offers


def test_what_is_not_available_is_not_sold() -> None:
    """Neither are types without any offering left."""
    gone = {"zone": "a", "price": 0.1, "is_available": False}
    kind = instance_type("gone", price=None, offerings=[gone])
    found = open_market((node_pool(),), {"default": (kind, PLAIN)}, mentions((), ()))
    assert [one.name for one in found.types] == ["plain"]


def test_types_that_share_their_requirements_are_judged_alike() -> None:
    """Two types of other names with the very same offerings."""
    twin = msgspec.structs.replace(PLAIN, name="twin")
    for words, n_offers in ((["zone In a"], 2), (["zone In b"], 0)):
        pool = node_pool(requirements=words)
        found = open_market((pool,), {"default": (PLAIN, twin)}, mentions((), ()))
        assert len(found.offers) == n_offers


def test_two_who_both_want_a_label_absent_agree() -> None:
    """No value satisfies both, and none is needed."""
    bare = requirement(labels.RESERVATION_ID, "DoesNotExist")
    offering = msgspec.structs.replace(
        PLAIN.offerings[0], requirements=PLAIN.offerings[0].requirements & [bare]
    )
    kind = msgspec.structs.replace(PLAIN, offerings=(offering,))
    for words, n_offers in (("DoesNotExist", 1), ("Exists", 0), ("In cr-1", 0)):
        pool = node_pool(requirements=[f"{labels.RESERVATION_ID} {words}"])
        found = open_market((pool,), {"default": (kind,)}, mentions((), ()))
        assert len(found.offers) == n_offers


def test_two_pools_share_the_types_that_both_sell() -> None:
    """One number for each type."""
    pools = (node_pool("x"), node_pool("y"))
    found = open_market(pools, {"x": (PLAIN,), "y": (PLAIN,)}, mentions((), ()))
    assert [(one.pool, one.type) for one in found.offers] == [(0, 0), (1, 0)]


def test_memory_does_not_mix_catalogues() -> None:
    """One pool, many catalogues, more than are remembered; each time its own types."""
    pool = node_pool(requirements=["zone In a"])
    catalogues = [(instance_type(f"t{n}", zones=("a",)),) for n in range(MAX_REMEMBERED + 5)]
    for _ in range(2):
        for number, types in enumerate(catalogues):
            found = open_market((pool,), {"default": types}, mentions((), ()))
            assert [one.name for one in found.types] == [f"t{number}"]


def test_memory_does_not_mix_pools() -> None:
    """One catalogue, pools that ask for different zones."""
    types = (instance_type("x", zones=("a", "b")),)
    for zone in ("a", "b", "a"):
        pool = node_pool(requirements=[f"zone In {zone}"])
        found = open_market((pool,), {"default": types}, mentions((), ()))
        assert [one.offering.zone for one in found.offers] == [zone]


def test_every_offer_has_one_value_for_every_label_that_is_mentioned() -> None:
    """And it is one that pool, type and offering all allow."""
    n_chosen = 0
    for seed in range(80):
        market = encode(random_puzzle(seed)).market
        for one in market.offers:
            layers = (
                pool_requirements(market.pools[one.pool]),
                market.types[one.type].requirements,
                one.offering.requirements,
            )
            for key, value in market.choices[one.choice]:
                n_chosen += 1
                assert may_carry(key, value, layers), f"seed {seed}"
    assert n_chosen > 100


def test_what_a_pool_says_of_itself_is_a_requirement() -> None:
    """Its labels, its name, and its node class."""
    pool = msgspec.structs.replace(
        node_pool("p", labels={TEAM: "blue"}, requirements=[f"{TEAM} In blue, red"]),
        node_class=NodeClassRef("example.com", "ExampleClass", "main"),
    )
    held = pool_requirements(pool)
    assert held[TEAM].values == {"blue"}
    assert held[labels.NODE_POOL].values == {"p"}
    assert held["example.com/exampleclass"].values == {"main"}
    bare = msgspec.structs.replace(pool, node_class=NodeClassRef())
    assert set(pool_requirements(bare)) == {TEAM, labels.NODE_POOL}


@pytest.mark.parametrize(
    ("key", "layers", "want"),
    [
        pytest.param(TEAM, [], (True, None), id="nobody says anything: absent"),
        pytest.param(TEAM, [("In", ["x"])], (True, "x"), id="one value"),
        pytest.param(TEAM, [("In", ["x", "y"])], (False, None), id="two values: open"),
        pytest.param(TEAM, [("In", ["x", "y"]), ("In", ["y", "z"])], (True, "y"), id="one left"),
        pytest.param(TEAM, [("In", ["x"]), ("In", ["z"])], (True, None), id="none left"),
        pytest.param(TEAM, [("Exists", [])], (False, None), id="any value: open"),
        pytest.param(labels.ARCH, [("Exists", [])], (True, None), id="only the provider adds it"),
        pytest.param(TEAM, [("DoesNotExist", [])], (True, None), id="absent"),
    ],
)
def test_a_label_is_definite_if_one_value_is_left(
    key: str, layers: list[tuple[str, list[str]]], want: tuple[bool, str | None]
) -> None:
    """Pool, type and offering together decide."""
    said = [Requirements([requirement(key, operator, values)]) for operator, values in layers]
    assert definite(key, said) == want


def test_mentions_list_values_bounds_and_topology_keys() -> None:
    """Sorted; the host name is no key that offers could tell apart."""
    said = mentions(
        [requirement("k", "In", ["b", "a"]), requirement("k", "Gt", ["4"])],
        [labels.ZONE, labels.HOSTNAME],
    )
    assert said.values_by_key == {"k": ("5", "a", "b"), labels.ZONE: ()}
    assert said.topology_keys == (labels.ZONE,)
