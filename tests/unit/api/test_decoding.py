from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from dovetail import api
from dovetail.api.decoding import join

TREE: api.Tree = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "labels": {"app": "web"}, "creationTimestamp": None},
    "spec": {
        "containers": [
            {
                "name": "app",
                "image": "registry/app:1",
                "resources": {"requests": {"cpu": 1, "memory": "1Gi"}},
                "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"}],
            }
        ],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "volumes": [
            {"name": "token", "projected": {}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}},
        ],
    },
}


def test_json_and_parsed_yaml_decode_alike() -> None:
    """Where an object came from leaves no trace."""
    from_tree = api.decode(api.Pod, TREE)
    from_json = api.decode(api.Pod, msgspec.json.encode(TREE))
    assert from_tree == from_json
    assert from_tree.spec.parts() == from_json.spec.parts()


def test_a_pods_parts_are_typed_on_demand() -> None:
    """What its template fixes is decoded when asked for, with the wire's own spelling."""
    parts = api.decode(api.Pod, TREE).spec.parts()
    assert parts.containers[0].resources.requests == {"cpu": 1, "memory": "1Gi"}
    assert parts.containers[0].ports[0].host_ip == "10.0.0.1"
    assert parts.node_selector == {"disk": "ssd"}
    assert parts.tolerations[0].operator == "Exists"
    assert parts.affinity is None


def test_volumes_are_read_as_far_as_their_claims() -> None:
    """Token volumes are there, but say nothing."""
    token, data = api.decode(api.Pod, TREE).spec.volumes
    assert token.persistent_volume_claim is None
    assert data.persistent_volume_claim is not None
    assert data.persistent_volume_claim.claim_name == "data-0"


def _pod(token: str, *, node: str = "", cpu: str = "1") -> api.Pod:
    container: api.Tree = {
        "name": "app",
        "resources": {"requests": {"cpu": cpu}},
        "volumeMounts": [{"name": token, "mountPath": "/var/run/secrets"}],
    }
    return api.decode(
        api.Pod,
        {
            "metadata": {"name": token},
            "spec": {"containers": [container], "nodeName": node, "volumes": [{"name": token}]},
        },
    )


def test_pods_of_one_template_have_equal_content() -> None:
    """Their names, nodes and token volumes tell pods apart, not templates."""
    assert _pod("token-a").spec.content() == _pod("token-b", node="n1").spec.content()


def test_pods_of_two_templates_differ_in_content() -> None:
    """Any wish that scheduling reads tells templates apart."""
    assert _pod("token-a").spec.content() != _pod("token-a", cpu="2").spec.content()


def test_nulls_are_as_good_as_absent() -> None:
    """As in Kubernetes, in JSON as in YAML, in what is decoded at once and what is later."""
    tree: api.Tree = {
        "metadata": {"name": "x", "labels": None, "creationTimestamp": None},
        "spec": {
            "containers": [{"name": "app", "resources": None, "ports": None}],
            "nodeSelector": None,
            "affinity": {"nodeAffinity": None, "podAffinity": {}},
            "tolerations": [{"key": "a", "value": None, "operator": "Exists"}],
        },
    }
    for data in (tree, msgspec.json.encode(tree)):
        pod = api.decode(api.Pod, data)
        assert pod.metadata.labels == {}
        parts = pod.spec.parts()
        assert parts.node_selector == {}
        assert parts.containers[0].resources.requests == {}
        assert parts.tolerations[0].value == ""


@pytest.mark.parametrize(
    ("tree", "field", "message"),
    [
        ({"spec": {"containers": {}}}, "spec.containers", "expected `array`, got `object`"),
        ({"spec": {"priority": "high"}}, "spec.priority", "expected `int | null`, got `str`"),
        ({"metadata": {"labels": {"a": 1}}}, "metadata.labels[...]", "expected `str`, got `int`"),
        ([], "", "expected `object`, got `array`"),
        ("text", "", "expected `object`, got `str`"),
    ],
)
def test_a_wrong_shape_is_told_with_its_field(tree: api.Tree, field: str, message: str) -> None:
    """The path as manifests write it, then what was expected."""
    with pytest.raises(api.DecodeError) as caught:
        api.decode(api.Pod, tree)
    assert caught.value.problem == api.FieldProblem(field, message)


def test_a_wrong_shape_in_a_late_part_is_told_with_its_whole_path() -> None:
    """Whoever reads the message need not know that it was decoded later."""
    spec: api.Tree = {"containers": [{"resources": {"requests": {"cpu": []}}}]}
    pod = api.decode(api.Pod, {"spec": spec})
    with pytest.raises(api.DecodeError) as caught:
        pod.spec.parts("spec.template.spec")
    want = "spec.template.spec.containers[0].resources.requests[...]"
    assert caught.value.problem.field == want


def test_a_missing_field_is_named() -> None:
    """With the path of the object that lacks it."""
    with pytest.raises(api.DecodeError, match=r"requirements\[0\]: object missing .* `operator`"):
        api.decode(
            api.NodePool,
            {
                "spec": {
                    "template": {
                        "spec": {
                            "nodeClassRef": {"group": "g", "kind": "k", "name": "n"},
                            "requirements": [{"key": "a"}],
                        }
                    }
                }
            },
        )


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b'{"a":', b'{"a":' * 100_000])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    """Junk and endless nesting alike."""
    with pytest.raises(api.DecodeError, match=r"not JSON|nested"):
        api.decode(api.Pod, data)


def test_endless_nesting_of_a_tree_is_refused() -> None:
    """Before the stack ends."""
    tree: api.Tree = {}
    for _ in range(100_000):
        tree = {"a": tree}
    with pytest.raises(api.DecodeError, match="nested"):
        api.decode(api.Pod, {"spec": tree})


def test_field_paths_join_as_people_write_them() -> None:
    """Dots between names, none before an index."""
    assert join("spec", "a") == "spec.a"
    assert join("spec", "[0]") == "spec[0]"
    assert join("", "a") == "a"


def test_moments_are_read_with_their_zone() -> None:
    """As the API server writes them."""
    pod = api.decode(api.Pod, {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}})
    assert pod.metadata.creation_timestamp == datetime(2026, 1, 1, tzinfo=UTC)


def test_what_is_written_reads_back() -> None:
    """Encoding a wire type and decoding it is the identity."""
    node = api.decode(
        api.Node,
        {
            "metadata": {"name": "n1"},
            "spec": {"providerID": "kwok://n1", "taints": [{"key": "a", "effect": "NoSchedule"}]},
            "status": {"capacity": {"cpu": "4"}, "conditions": [{"type": "Ready"}]},
        },
    )
    assert api.decode(api.Node, api.encode(node)) == node
    assert node.spec.provider_id == "kwok://n1"


def test_what_json_cannot_say_is_refused() -> None:
    """An arbitrary object of Python, for one."""
    with pytest.raises(api.DecodeError, match="cannot be written as JSON"):
        api.encode({"a": object()})
