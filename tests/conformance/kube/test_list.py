"""How objects are listed."""

from __future__ import annotations

import pytest

from dovetail.kube.errors import InvalidError
from dovetail.kube.seam import Kube, Page, Ref, Scope
from tests.conformance.kube.objects import (
    CONFIG_MAP,
    DEFAULT,
    EVENT,
    NAMESPACE,
    NODE,
    NOW,
    POD,
    bound,
    config_map,
    create,
    make,
    merge,
    named,
    node,
    pod,
    read,
)
from tests.conformance.kube.servers import Names, Server


def names_of(page: Page) -> list[str]:
    """Who is on a page."""
    return [read(one)["metadata"]["name"] for one in page.items]


async def made(kube: Kube, names: Names, n_objects: int) -> tuple[Scope, list[str]]:
    """Some labelled objects, and the scope that holds just them."""
    mark = names.fresh()
    found = [names.fresh() for _ in range(n_objects)]
    for name in found:
        await make(kube, CONFIG_MAP, named(name, labels={"law": mark}))
    return Scope(CONFIG_MAP, DEFAULT, labels=f"law={mark}"), sorted(found)


async def test_a_list_is_in_the_order_of_names(server: Server, names: Names) -> None:
    """Not in the order in which objects came."""
    async with server.open() as kube:
        mark = names.fresh()
        for name in ("c", "a", "b"):
            await make(kube, CONFIG_MAP, named(f"{mark}-{name}", labels={"law": mark}))
        page = await kube.list(Scope(CONFIG_MAP, DEFAULT, labels=f"law={mark}"))
        assert names_of(page) == [f"{mark}-{name}" for name in "abc"]


async def test_a_list_shows_one_namespace_or_all(server: Server, names: Names) -> None:
    """Without a namespace, all are listed, in the order of namespace and name."""
    async with server.open() as kube:
        mark = names.fresh()
        labels = {"law": mark}
        homes = [f"{mark}-a", f"{mark}-b"]
        for home in homes:
            await create(kube, NAMESPACE, named(home))
            await create(kube, CONFIG_MAP, named("thing", labels=labels), home)
        everywhere = await kube.list(Scope(CONFIG_MAP, labels=f"law={mark}"))
        found = [read(one)["metadata"]["namespace"] for one in everywhere.items]
        assert found == homes
        only = await kube.list(Scope(CONFIG_MAP, homes[1], labels=f"law={mark}"))
        assert [read(one)["metadata"]["namespace"] for one in only.items] == homes[1:]


async def test_a_namespace_is_not_taken_for_the_beginning_of_another(
    server: Server, names: Names
) -> None:
    """Objects of `x-y` are not listed under `x`."""
    async with server.open() as kube:
        home = names.fresh()
        for one in (home, f"{home}-more"):
            await create(kube, NAMESPACE, named(one))
            await create(kube, CONFIG_MAP, named("mine"), one)
        listed = await kube.list(Scope(CONFIG_MAP, home, fields="metadata.name=mine"))
        assert [read(one)["metadata"]["namespace"] for one in listed.items] == [home]


async def test_the_items_of_a_list_say_what_they_are(server: Server, names: Names) -> None:
    """Each item is a whole object as a read gives it, its kind too if the server writes it."""
    async with server.open() as kube:
        scope, (name,) = await made(kube, names, 1)
        (item,) = (await kube.list(scope)).items
        whole = read(await kube.get(Ref(CONFIG_MAP, name, DEFAULT)))
        assert {**read(item), "apiVersion": "v1", "kind": "ConfigMap"} == whole


async def test_pages_show_everything_once(server: Server, names: Names) -> None:
    """A token leads to the next page, and the last page has none."""
    async with server.open() as kube:
        scope, wanted = await made(kube, names, 7)
        page = await kube.list(scope, limit=3)
        found = [names_of(page)]
        while page.token:
            page = await kube.list(scope, limit=3, token=page.token)
            found.append(names_of(page))
        assert found == [wanted[:3], wanted[3:6], wanted[6:]]


async def test_a_page_that_ends_with_the_list_has_no_token(server: Server, names: Names) -> None:
    """A full last page does not lead to an empty one."""
    async with server.open() as kube:
        home = await make(kube, NAMESPACE, named(names.fresh()))
        wanted = [names.fresh() for _ in range(4)]
        for name in wanted:
            await create(kube, CONFIG_MAP, config_map(name), home.name)
        scope = Scope(CONFIG_MAP, home.name)
        first = await kube.list(scope, limit=2)
        last = await kube.list(scope, limit=2, token=first.token)
        assert (names_of(last), last.token) == (wanted[2:], "")


async def test_all_pages_show_one_moment(server: Server, names: Names) -> None:
    """What comes, changes or goes between two pages is not seen on the second."""
    async with server.open() as kube:
        scope, wanted = await made(kube, names, 6)
        first = await kube.list(scope, limit=2)
        mark = scope.labels.removeprefix("law=")
        await make(kube, CONFIG_MAP, named(f"{wanted[2]}-late", labels={"law": mark}))
        await kube.delete(Ref(CONFIG_MAP, wanted[3], DEFAULT), NOW)
        await merge(kube, Ref(CONFIG_MAP, wanted[4], DEFAULT), {"data": {"late": "yes"}})
        second = await kube.list(scope, limit=10, token=first.token)
        assert names_of(second) == wanted[2:]
        assert all("data" not in read(one) for one in second.items)
        assert second.resource_version == first.resource_version


async def test_a_token_that_nobody_gave_is_refused(server: Server) -> None:
    """A made-up token is a mistake of the client's."""
    async with server.open() as kube:
        with pytest.raises(InvalidError) as refused:
            await kube.list(Scope(CONFIG_MAP, DEFAULT), limit=1, token="made-up")  # noqa: S106  no secret
        assert refused.value.status == 400


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        pytest.param("{mark}", "abcd", id="the label is there"),
        pytest.param("{mark}=a", "a", id="equal"),
        pytest.param("{mark}==a", "a", id="equal, written twice"),
        pytest.param("{mark}!=a,{mark}", "bcd", id="unequal"),
        pytest.param("{mark} in (a, b)", "ab", id="one of several"),
        pytest.param("{mark} notin (a,b),{mark}", "cd", id="none of several"),
        pytest.param("{mark},!tier", "ac", id="another label is not there"),
        pytest.param("{mark},tier=front", "b", id="two labels"),
        pytest.param("{mark},tier!=front", "acd", id="unequal is also absent"),
        pytest.param("{mark},tier notin (front,back)", "ac", id="none of several is also absent"),
        pytest.param("{mark} in ()", "", id="one of nothing"),
    ],
)
async def test_label_selectors(server: Server, names: Names, selector: str, want: str) -> None:
    """Every form of label selector means what it means to kubectl."""
    async with server.open() as kube:
        mark = names.fresh()
        tiers = {"b": "front", "d": "back"}
        for one in "abcd":
            labels = {mark: one} | ({"tier": tiers[one]} if one in tiers else {})
            await make(kube, CONFIG_MAP, named(f"{mark}-{one}", labels={**labels}))
        page = await kube.list(Scope(CONFIG_MAP, DEFAULT, labels=selector.format(mark=mark)))
        assert [name.removeprefix(f"{mark}-") for name in names_of(page)] == list(want)


@pytest.mark.parametrize("selector", ["a in b", "=a", "a=(b)", "a,,b", "a ! b"])
async def test_a_label_selector_that_makes_no_sense_is_refused(
    server: Server, selector: str
) -> None:
    """Better no list than a wrong one."""
    async with server.open() as kube:
        with pytest.raises(InvalidError) as refused:
            await kube.list(Scope(CONFIG_MAP, DEFAULT, labels=selector))
        assert refused.value.status == 400


async def test_pods_are_selected_by_node_and_phase(server: Server, names: Names) -> None:
    """A pod without a node has an empty one."""
    async with server.open() as kube:
        mark, host = names.fresh(), names.fresh()
        await make(kube, NODE, node(host))
        for one in ("bound", "waiting"):
            await make(kube, POD, pod(f"{mark}-{one}", labels={"law": mark}))
        await bound(kube, Ref(POD, f"{mark}-bound", DEFAULT), host)

        async def found(fields: str) -> list[str]:
            page = await kube.list(Scope(POD, labels=f"law={mark}", fields=fields))
            return [name.removeprefix(f"{mark}-") for name in names_of(page)]

        assert await found(f"spec.nodeName={host}") == ["bound"]
        assert await found("spec.nodeName=") == ["waiting"]
        assert await found("spec.nodeName!=") == ["bound"]
        assert await found("status.phase=Pending,spec.nodeName=") == ["waiting"]
        assert await found("status.phase!=Pending") == []


async def test_nodes_are_selected_by_whether_they_are_cordoned(
    server: Server, names: Names
) -> None:
    """A node that says nothing is not cordoned."""
    async with server.open() as kube:
        mark = names.fresh()
        for one in ("closed", "open"):
            await make(kube, NODE, node(f"{mark}-{one}", labels={"law": mark}))
        await merge(kube, Ref(NODE, f"{mark}-closed"), {"spec": {"unschedulable": True}})
        for fields, want in (("true", "closed"), ("false", "open")):
            scope = Scope(NODE, labels=f"law={mark}", fields=f"spec.unschedulable={fields}")
            assert names_of(await kube.list(scope)) == [f"{mark}-{want}"]


async def test_events_are_selected_by_what_they_are_about(server: Server, names: Names) -> None:
    """As `kubectl describe` asks for them."""
    async with server.open() as kube:
        mark = names.fresh()
        for one in ("a", "b"):
            about = {"kind": "Pod", "name": f"{mark}-{one}", "namespace": DEFAULT}
            body = {**named(names.fresh()), "involvedObject": about, "type": "Normal"}
            await make(kube, EVENT, body)
        page = await kube.list(Scope(EVENT, DEFAULT, fields=f"involvedObject.name={mark}-a"))
        assert [read(one)["involvedObject"]["name"] for one in page.items] == [f"{mark}-a"]


async def test_a_field_that_cannot_be_selected_by_is_refused(server: Server) -> None:
    """Each kind has a few fields that selectors may name."""
    async with server.open() as kube:
        with pytest.raises(InvalidError) as refused:
            await kube.list(Scope(CONFIG_MAP, DEFAULT, fields="data.key=value"))
        assert refused.value.status == 400


async def test_every_kind_can_be_selected_by_name(server: Server, names: Names) -> None:
    """One object as a list of one, which is how one object is watched."""
    async with server.open() as kube:
        name = names.fresh()
        await make(kube, CONFIG_MAP, config_map(name))
        await make(kube, CONFIG_MAP, config_map(f"{name}-other"))
        page = await kube.list(Scope(CONFIG_MAP, DEFAULT, fields=f"metadata.name={name}"))
        assert names_of(page) == [name]
