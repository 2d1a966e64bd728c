from __future__ import annotations

from dovetail import labels
from dovetail.model.topology import Spread, equality
from tests.oracle.build import ask, host, pod, world
from tests.oracle.scheduler import bind_as_nodes_come, bind_in_order

EVEN = Spread(labels.HOSTNAME, equality({"app": "web"}))
WEB = pod("web", spec=ask(spread=(EVEN,)))
OTHER = pod("other")
OLD = pod("old", labels={"app": "web"})
SCENE = world(host("n"), host("new", is_new=True), n=[OLD])


def test_pods_on_nodes_that_are_there_do_not_wait_for_new_ones() -> None:
    """The new node is empty and would hold the minimum at zero, but it is not there yet."""
    where = {WEB.key: "n", OTHER.key: "new"}
    assert bind_in_order(SCENE, where, [WEB, OTHER]) != {}
    assert bind_as_nodes_come(SCENE, where, [WEB, OTHER]) == {}


def test_pods_on_new_nodes_see_all_nodes() -> None:
    """A second replica on the new node is one too many while the first node has one."""
    more = [pod(f"web-{n}", spec=ask(spread=(EVEN,)), labels={"app": "web"}) for n in range(3)]
    where = {one.key: "new" for one in more}
    assert list(bind_as_nodes_come(SCENE, where, more)) == ["default/web-2"]
