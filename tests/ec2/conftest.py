"""One EC2 for all tests of this folder, begun anew for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.config import Config
from botocore.model import OperationModel
from botocore.session import Session, get_session

from tests.ec2.contract import violations
from tests.ec2.control import REGION, Ec2Control
from tests.ec2.permissions.judge import denials
from tests.ec2.process import running
from tests.ec2.setting import Aws


@pytest.fixture(scope="session")
def server() -> Iterator[Ec2Control]:
    """The server; one for a session, whose tests therefore belong to one group ("ec2")."""
    with running() as control:
        yield control


@pytest.fixture(scope="session")
def session() -> Session:
    """What clients are made of; it keeps the service models, which are large."""
    session = get_session()
    factory = session.get_component("response_parser_factory")
    factory.set_parser_defaults(timestamp_parser=_instant)
    return session


def _instant(text: str | float) -> datetime:
    """As botocore reads it, but in a tenth of the time, which counts in lists of thousands."""
    if isinstance(text, str):
        return datetime.fromisoformat(text)
    return datetime.fromtimestamp(text, UTC)


@pytest.fixture
def control(server: Ec2Control) -> Iterator[Ec2Control]:
    """Orders to the EC2 of this test. Afterwards the policies that we print must have allowed every
    call of the provider.
    """
    server.reset()
    yield server
    assert denials(server.calls()) == []


@pytest.fixture(scope="session")
def clients(server: Ec2Control, session: Session) -> dict[str, Any]:
    """One client of each service. Every answer is judged by the service model as it comes."""
    names = ("arc-zonal-shift", "ec2", "eks", "iam", "pricing", "sqs", "ssm", "sts")
    return {name: _client(session, server.url, name) for name in names}


@pytest.fixture
def aws(control: Ec2Control, clients: dict[str, Any]) -> Aws:
    """Clients, and words for what most tests need."""
    return Aws(control, clients)


def _client(session: Session, url: str, service: str) -> Any:
    client = session.create_client(
        service,
        region_name=REGION,
        endpoint_url=url,
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 -- any will do
        config=Config(retries={"total_max_attempts": 1}, connect_timeout=60, read_timeout=60),
    )
    client.meta.events.register(f"before-parse.{service}", _judge)
    return client


def _judge(
    operation_model: OperationModel, response_dict: dict[str, Any], **_others: object
) -> None:
    if response_dict["status_code"] < 300:
        found = violations(operation_model, response_dict["body"])
        assert found == []
