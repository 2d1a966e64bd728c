"""What a server fills in where an object says nothing."""

from __future__ import annotations

from typing import Any

from dovetail import api
from tests.conformance.kube.objects import (
    DEPLOYMENT,
    POD,
    deployment,
    got,
    make,
    merge,
    named,
    pod,
)
from tests.conformance.kube.servers import Names, Server

SERVICE = api.KINDS["", "Service"]
JOB = api.KINDS["batch", "Job"]
DAEMON_SET = api.KINDS["apps", "DaemonSet"]
CONTAINER = {
    "name": "main",
    "image": "registry.example/main:1",
    "imagePullPolicy": "IfNotPresent",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
POD_SPEC = {
    "containers": [CONTAINER],
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}


def without(tree: dict[str, Any], *fields: str) -> dict[str, Any]:
    """A tree without some of its fields."""
    return {key: value for key, value in tree.items() if key not in fields}


async def test_a_deployment_is_completed_with_its_template(server: Server, names: Names) -> None:
    """Strategy, limits of its history and all that its pods are to have."""
    async with server.open() as kube:
        name = names.fresh()
        ref = await make(kube, DEPLOYMENT, deployment(name))
        spec = (await got(kube, ref))["spec"]
        quarter = {"maxSurge": "25%", "maxUnavailable": "25%"}
        assert spec == {
            "progressDeadlineSeconds": 600,
            "replicas": 2,
            "revisionHistoryLimit": 10,
            "selector": {"matchLabels": {"app": name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": quarter},
            "template": {"metadata": {"labels": {"app": name}}, "spec": POD_SPEC},
        }


async def test_annotations_of_a_deployment_ask_for_more(server: Server, names: Names) -> None:
    """Its generation counts them, and labels not."""
    async with server.open() as kube:
        ref = await make(kube, DEPLOYMENT, deployment(names.fresh()))
        annotated = await merge(kube, ref, {"metadata": {"annotations": {"a": "b"}}})
        assert annotated["metadata"]["generation"] == 2
        labelled = await merge(kube, ref, {"metadata": {"labels": {"a": "b"}}})
        assert labelled["metadata"]["generation"] == 2


async def test_a_pod_is_completed_and_judged(server: Server, names: Names) -> None:
    """Also with how well it is to be treated, by what it asks for."""
    async with server.open() as kube:
        ref = await make(kube, POD, pod(names.fresh()))
        plain = await got(kube, ref)
        added = ("enableServiceLinks", "preemptionPolicy", "priority", "tolerations")
        assert without(plain["spec"], *added) == POD_SPEC
        assert plain["status"]["qosClass"] == "BestEffort"
        limits = {"cpu": "1", "memory": "1Gi"}
        container = {"name": "a", "image": "a", "resources": {"limits": limits}}
        ref = await make(kube, POD, pod(names.fresh(), containers=[container]))
        assert (await got(kube, ref))["status"]["qosClass"] == "Guaranteed"


async def test_an_image_that_may_change_is_always_pulled(server: Server, names: Names) -> None:
    """One without a tag, or the latest."""
    async with server.open() as kube:
        images = ["a", "a:latest", "a:1", "host:5000/a", "a@sha256:" + "0" * 64]
        containers = [{"name": f"c{place}", "image": image} for place, image in enumerate(images)]
        ref = await make(kube, POD, pod(names.fresh(), containers=containers))
        found = (await got(kube, ref))["spec"]["containers"]
        policies = [one["imagePullPolicy"] for one in found]
        assert policies == ["Always", "Always", "IfNotPresent", "Always", "IfNotPresent"]


async def test_a_service_gets_an_address(server: Server, names: Names) -> None:
    """Of its own, unless it wants none."""
    async with server.open() as kube:
        body = {"spec": {"ports": [{"port": 80}]}}
        first = await make(kube, SERVICE, {**named(names.fresh()), **body})
        second = await make(kube, SERVICE, {**named(names.fresh()), **body})
        spec, other = [(await got(kube, ref))["spec"] for ref in (first, second)]
        assert spec["clusterIP"] != other["clusterIP"]
        assert without(spec, "clusterIP", "clusterIPs") == {
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        }


async def test_a_job_knows_its_pods_by_its_uid(server: Server, names: Names) -> None:
    """Selector, labels of the template, and its own."""
    async with server.open() as kube:
        name = names.fresh()
        template = {"spec": {**pod("x")["spec"], "restartPolicy": "Never"}}
        ref = await make(kube, JOB, {**named(name), "spec": {"template": template}})
        made = await got(kube, ref)
        uid = made["metadata"]["uid"]
        prefix = "batch.kubernetes.io/"
        labels = {
            f"{prefix}controller-uid": uid,
            f"{prefix}job-name": name,
            "controller-uid": uid,
            "job-name": name,
        }
        assert made["spec"]["selector"] == {"matchLabels": {f"{prefix}controller-uid": uid}}
        assert made["spec"]["template"]["metadata"]["labels"] == labels
        assert made["metadata"]["labels"] == labels
        counted = ("completions", "parallelism", "backoffLimit")
        assert [made["spec"][field] for field in counted] == [1, 1, 6]


async def test_a_daemon_set_counts_its_templates(server: Server, names: Names) -> None:
    """On an annotation, from one on."""
    async with server.open() as kube:
        body = deployment(names.fresh())
        ref = await make(kube, DAEMON_SET, {**body, "spec": without(body["spec"], "replicas")})
        key = "deprecated.daemonset.template.generation"
        assert (await got(kube, ref))["metadata"]["annotations"][key] == "1"
        change = {"spec": {"template": {"metadata": {"labels": {"more": "yes"}}}}}
        assert (await merge(kube, ref, change))["metadata"]["annotations"][key] == "2"
