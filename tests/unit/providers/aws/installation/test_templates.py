"""All templates say the same, refer to what they have, and take the same parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import hcl2
import pytest
import yaml

from dovetail.cloud.prerequisites import TemplateRequest
from dovetail.errors import InputError
from dovetail.providers.aws.installation.parameters import PARAMETERS
from dovetail.providers.aws.installation.templates import TEMPLATES
from dovetail.providers.aws.interruption.messages import InterruptionKind, read_message
from tests.unit.providers.aws.interruption import texts

Tree = dict[str, Any]
ACCOUNT, REGION, CLUSTER, ISSUER = "123456789012", "eu-west-1", "shop.prod", "oidc.example.com/id/1"
VALUES = {
    "cluster-name": CLUSTER,
    "image-parameters": "/team/images/*",
    "more-node-roles": "gpu,windows",
}
IRSA = {**VALUES, "oidc-provider": f"https://{ISSUER}"}
PLACES = {"region": REGION, "account-id": ACCOUNT}
PSEUDO = {
    "${AWS::Region}": REGION,
    "${AWS::AccountId}": ACCOUNT,
    "${AWS::Partition}": "aws",
    "${AWS::URLSuffix}": "amazonaws.com",
}


def text(template_format: str, values: Mapping[str, str]) -> str:
    """A template."""
    return TEMPLATES.render(
        TemplateRequest(
            format=template_format, values=values, namespace="scaling", service_account="dovetail"
        )
    )


def literal(values: Mapping[str, str] = VALUES) -> Tree:
    """The JSON document."""
    document: Tree = json.loads(text("json", {**values, **PLACES}))
    return document


# ---------------------------------------------------------------- CloudFormation


def stack(values: Mapping[str, str] = VALUES) -> Tree:
    """The CloudFormation template."""
    template: Tree = yaml.safe_load(text("cloudformation", values))
    return template


def resolved(part: Any) -> Any:
    """A part of a template as CloudFormation resolves it, but for references."""
    match part:
        case {"Fn::Sub": str(pattern)}:
            return replaced(pattern, PSEUDO)
        case dict():
            return {key: resolved(value) for key, value in part.items()}
        case list():
            return [resolved(value) for value in part]
        case _:
            return part


def replaced(pattern: str, names: Mapping[str, str]) -> str:
    """A text with names in place of their functions."""
    for name, value in names.items():
        pattern = pattern.replace(name, value)
    return pattern


def references(part: Any) -> Iterator[str]:
    """The resources that a part of a template refers to."""
    match part:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), str()]}:
            yield name
        case dict():
            for value in part.values():
                yield from references(value)
        case list():
            for value in part:
                yield from references(value)


@pytest.mark.parametrize("values", [VALUES, IRSA], ids=["pod identity", "IRSA"])
def test_a_stack_refers_to_what_it_has(values: Mapping[str, str]) -> None:
    """And has the resources of both kinds of identity."""
    template = stack(values)
    resources = template["Resources"]
    assert set(references(template)) <= set(resources)
    assert {"ControllerRole", "NodeRole", "InterruptionQueue"} <= set(references(template))
    assert all(re.fullmatch(r"[A-Za-z0-9]+", name) for name in resources)
    assert all(one["Type"].startswith("AWS::") for one in resources.values())
    assert ("PodIdentity" in resources) is (values is VALUES)
    assert "&id" not in text("cloudformation", values)


@pytest.mark.parametrize("values", [VALUES, IRSA], ids=["pod identity", "IRSA"])
def test_a_stack_has_the_policies_of_the_json_document(values: Mapping[str, str]) -> None:
    """Every statement, and who may use the roles."""
    resources, want = resolved(stack(values))["Resources"], literal(values)
    got = {
        name.removesuffix("Policy"): one["Properties"]["PolicyDocument"]
        for name, one in resources.items()
        if one["Type"] == "AWS::IAM::ManagedPolicy"
    }
    assert got == want["policies"]
    controller = resources["ControllerRole"]["Properties"]
    assert controller["AssumeRolePolicyDocument"] == want["controllerTrust"]
    assert controller["ManagedPolicyArns"] == [{"Ref": f"{name}Policy"} for name in got]
    node = resources["NodeRole"]["Properties"]
    assert node["AssumeRolePolicyDocument"] == want["nodeTrust"]
    assert node["ManagedPolicyArns"] == want["nodePolicies"]
    patterns = [
        one["Properties"]["EventPattern"]
        for one in resources.values()
        if one["Type"] == "AWS::Events::Rule"
    ]
    assert patterns == [*want["rules"].values()]


# ---------------------------------------------------------------- Terraform


def module(values: Mapping[str, str] = VALUES) -> dict[tuple[str, str], Tree]:
    """The resources of the Terraform module, by kind and name."""
    return {
        (kind.strip('"'), name.strip('"')): arguments
        for block in hcl2.loads(text("terraform", values))["resource"]
        for kind, named in block.items()
        for name, arguments in named.items()
    }


FILLED_IN = {
    "${var.cluster_name}": CLUSTER,
    "${var.oidc_provider}": ISSUER,
    "${var.namespace}": "scaling",
    "${var.service_account}": "dovetail",
    "${local.interruption_queue}": "shop-prod",
    "${local.node_role}": f"KarpenterNodeRole-{CLUSTER}",
    "${data.aws_partition.current.partition}": "aws",
    "${data.aws_partition.current.dns_suffix}": "amazonaws.com",
    "${data.aws_region.current.id}": REGION,
    "${data.aws_caller_identity.current.account_id}": ACCOUNT,
}


def encoded(argument: str) -> list[Any]:
    """The documents that an argument encodes as JSON, with the names that Terraform fills in."""
    documents = re.findall(r"jsonencode\((.+?)\)(?= :|}$)", argument)
    return [evaluated(hcl2.loads(f"x = {one}\n")["x"]) for one in documents]


def evaluated(part: Any) -> Any:
    """An expression as the parser gives it, as Terraform evaluates it."""
    match part:
        case dict():
            return {evaluated(key): evaluated(value) for key, value in part.items()}
        case list():
            return [evaluated(value) for value in part]
        case str():
            return replaced(part.strip('"'), FILLED_IN)
        case _:
            return part


def test_a_module_has_the_policies_of_the_json_document() -> None:
    """Every statement, who may use the roles, and the events."""
    resources, want = module(), literal()
    got = [
        encoded(arguments["policy"])[0]
        for (kind, _), arguments in resources.items()
        if kind == "aws_iam_policy"
    ]
    assert got == [*want["policies"].values()]
    trust = encoded(resources["aws_iam_role", "controller"]["assume_role_policy"])
    assert trust == [want["controllerTrust"], literal(IRSA)["controllerTrust"]]
    assert encoded(resources["aws_iam_role", "node"]["assume_role_policy"]) == [want["nodeTrust"]]
    patterns = [
        encoded(arguments["event_pattern"])[0]
        for (kind, _), arguments in resources.items()
        if kind == "aws_cloudwatch_event_rule"
    ]
    assert patterns == [*want["rules"].values()]


def test_a_module_refers_to_what_it_has() -> None:
    """Variables, locals, data and resources."""
    written = text("terraform", VALUES)
    tree = hcl2.loads(written)
    variables = {name.strip('"') for block in tree["variable"] for name in block}
    assert set(re.findall(r"\bvar\.(\w+)", written)) == variables
    assert set(re.findall(r"\blocal\.(\w+)", written)) == set(tree["locals"][0]) - {"__is_block__"}
    data = {
        f"{kind}.{name}".replace('"', "")
        for one in tree["data"]
        for kind in one
        for name in one[kind]
    }
    assert set(re.findall(r"\bdata\.(\w+\.\w+)\.", written)) == data
    known = {f"{kind}.{name}" for kind, name in module()}
    assert set(re.findall(r"(?<!data\.)\b(aws_\w+\.\w+)\.\w+", written)) <= known


def test_the_variables_of_a_module_have_the_values_that_are_given() -> None:
    """Without a cluster there is one that must be set."""
    tree = hcl2.loads(text("terraform", {}))
    needed = [
        name.strip('"')
        for block in tree["variable"]
        for name, arguments in block.items()
        if "default" not in arguments
    ]
    assert needed == ["cluster_name"]
    assert f'default     = "{CLUSTER}"' in text("terraform", VALUES)


# ---------------------------------------------------------------- queue and parameters


def test_only_the_rules_of_the_queue_may_send_to_it() -> None:
    """And only with TLS."""
    document = literal()
    allowed, denied = document["queuePolicy"]["Statement"]
    assert allowed["Condition"]["ArnEquals"]["aws:SourceArn"] == [
        f"arn:aws:events:{REGION}:{ACCOUNT}:rule/{name}" for name in document["rules"]
    ]
    assert denied["Effect"] == "Deny"
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


MESSAGES = {
    "spot": texts.spot("i-1"),
    "rebalance": texts.rebalance("i-1"),
    "reservation": texts.reservation("i-1"),
    "health": texts.health("i-1"),
    **{
        state: texts.state_change("i-1", state)
        for state in ("stopping", "stopped", "shutting-down", "terminated")
    },
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_every_message_that_is_acted_upon_is_sent_by_a_rule(message: str) -> None:
    """Messages that the reader understands match the pattern of a rule."""
    assert read_message(message).kind is not InterruptionKind.NOTHING
    event = json.loads(message)
    assert any(matches(event, pattern) for pattern in literal()["rules"].values())


def matches(event: Tree, pattern: Tree) -> bool:
    """Whether EventBridge sends the event."""
    return all(
        matches(event[key], values) if isinstance(values, dict) else event[key] in values
        for key, values in pattern.items()
    )


@pytest.mark.parametrize(
    ("template_format", "values", "message"),
    [
        ("json", {}, "--set cluster-name: is missing; expected the name of the EKS cluster"),
        ("cloudformation", {}, "--set cluster-name: is missing"),
        ("json", {"cluster-name": "a"}, "--set account-id: is missing; expected an account of 12"),
        ("json", {"cluster-name": "a", **PLACES, "region": "here"}, "--set region: is 'here'"),
        ("terraform", {"cluster-name": "a b"}, "--set cluster-name: is 'a b'"),
        ("terraform", {"node-role": "a/b"}, "--set node-role: is 'a/b'"),
        ("cloudformation", {"cluster-name": "c" * 60}, "--set node-role: is 'KarpenterNodeRole-"),
        ("terraform", {"oidc-provider": "x"}, "--set oidc-provider: is 'x'"),
        ("terraform", {"image-parameters": "team"}, "--set image-parameters: is 'team'"),
        ("pulumi", {"cluster-name": "a"}, "--cloud: expected cloudformation, terraform, json"),
    ],
    ids=range(10),
)
def test_what_cannot_be_used_is_refused(
    template_format: str, values: Mapping[str, str], message: str
) -> None:
    """With the parameter and what was expected."""
    with pytest.raises(InputError, match=re.escape(message)):
        text(template_format, values)


@pytest.mark.parametrize(
    ("region", "want"),
    [("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov"), ("eu-west-1", "aws")],
)
def test_the_partition_is_that_of_the_region(region: str, want: str) -> None:
    """China and GovCloud have their own."""
    document = literal({**VALUES})
    other = json.loads(text("json", {**VALUES, "account-id": ACCOUNT, "region": region}))
    suffix = "amazonaws.com.cn" if want == "aws-cn" else "amazonaws.com"
    (statement,) = other["nodeTrust"]["Statement"]
    assert statement["Principal"] == {"Service": [f"ec2.{suffix}"]}
    assert other["nodePolicies"][0].startswith(f"arn:{want}:iam::aws:policy/")
    assert len(other["policies"]) == len(document["policies"])


def test_every_parameter_changes_a_template() -> None:
    """None is accepted and forgotten."""
    given = {
        "cluster-name": "other",
        "region": "us-east-2",
        "account-id": "210987654321",
        "interruption-queue": "events",
        "node-role": "nodes",
        "more-node-roles": "gpu",
        "controller-role": "scaler",
        "oidc-provider": ISSUER,
        "image-parameters": "/own",
    }
    assert set(given) == {parameter.name for parameter in PARAMETERS}
    base = {"cluster-name": "shop", **PLACES}
    for name, value in given.items():
        formats = ("json", "cloudformation")
        before, after = (
            [text(each, values) for each in formats] for values in (base, {**base, name: value})
        )
        assert before != after, name
