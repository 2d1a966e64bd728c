from __future__ import annotations

from dovetail.model.volumes import PodVolumes
from dovetail.solve.encoding.groups import group_pods, read_labels
from dovetail.testing.builders import deployment, pod


def test_pods_of_one_template_are_one_group() -> None:
    """Labels that no selector reads do not tell pods apart."""
    pods = [*deployment(3, "web"), pod("web-9", labels={"app": "web", "unread": "x"})]
    (group,) = group_pods(pods, (), {}, {})
    assert len(group.pods) == 4


def test_labels_that_a_selector_reads_tell_pods_apart() -> None:
    """The same template with another label that somebody selects on is another group."""
    picky = pod("picky", anti_affinity=[{"topology_key": "zone", "selector": {"rev": "1"}}])
    pods = [picky, pod("a", labels={"rev": "1"}), pod("b", labels={"rev": "2"})]
    keys = read_labels([one.spec for one in pods], ())
    assert keys == ("rev",)
    assert len(group_pods(pods, keys, {}, {})) == 3


def claimed(name: str, claim: str) -> tuple[str, PodVolumes]:
    """The volumes of a pod with one claim."""
    return f"default/{name}", PodVolumes(attachments=(("csi", (f"default/{claim}",)),))


def test_claims_of_single_pods_do_not_tell_them_apart() -> None:
    """Each replica of a stateful set has its own claim, and all are alike."""
    pods = [pod("db-0", claims=["d-0"]), pod("db-1", claims=["d-1"])]
    volumes = dict([claimed("db-0", "d-0"), claimed("db-1", "d-1")])
    (group,) = group_pods(pods, (), volumes, {})
    assert group.volumes.attachments == (("csi", ("",)),)


def test_a_claim_that_a_running_pod_uses_too_keeps_its_name() -> None:
    """It is attached already where that pod runs."""
    volumes = dict([claimed("db-0", "shared")])
    running = dict([claimed("old", "shared")])
    (group,) = group_pods([pod("db-0", claims=["shared"])], (), volumes, running)
    assert group.volumes.attachments == (("csi", ("default/shared",)),)


def test_the_order_of_pods_does_not_show_in_groups() -> None:
    """Groups and their pods are sorted by name."""
    pods = [*deployment(2, "b", cpu=1), *deployment(2, "a", cpu=2)]
    forth = group_pods(pods, (), {}, {})
    back = group_pods(pods[::-1], (), {}, {})
    assert [group.pods for group in forth] == [group.pods for group in back]
