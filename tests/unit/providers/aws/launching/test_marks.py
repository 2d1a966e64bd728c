"""Tests of the marks on claims."""

from __future__ import annotations

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.model.claim import ClaimObject
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.fleet_request import (
    FleetOverride,
    FleetTerms,
    TemplateUse,
    fleet_request,
    fleet_token,
    with_token,
)
from dovetail.providers.aws.launching.marks import (
    NODE_CLAIM,
    ClaimGone,
    FleetMark,
    MarkedClaim,
    Marks,
    MarkTaken,
    MarkWritten,
    annotations_of,
    decode,
    encode,
    mark_of,
)
from dovetail.state.objects import claim_object
from dovetail.testing.virtual_time import VirtualTime

REQUEST = fleet_request(
    [
        TemplateUse(
            "template",
            tuple(
                FleetOverride(10**8 + one, f"m{one}.large", zone, f"subnet-{zone}", "ami-1")
                for one in range(60)
                for zone in ("a", "b", "c")
            ),
        )
    ],
    FleetTerms("spot", tags={"b": "2", "a": "1"}),
)
SENT = with_token(REQUEST, "token", 7)
MARK = FleetMark("token", 3, "head", encode(SENT))


async def claim(kube: MemoryKube, name: str = "c") -> ClaimObject:
    """A claim in the API."""
    reference: Json = {"group": labels.AWS_GROUP, "kind": "EC2NodeClass", "name": "default"}
    body: dict[str, Json] = {
        "apiVersion": NODE_CLAIM.api_version,
        "kind": NODE_CLAIM.name,
        "metadata": {"name": name, "annotations": {"a": "b"}},
        "spec": {"nodeClassRef": reference, "requirements": []},
    }
    return claim_object(api.decode(api.NodeClaim, await kube.create(NODE_CLAIM, body)))


def test_a_request_is_small_and_reads_back_as_it_was() -> None:
    """Sixty types in three zones; the same request is the same text."""
    assert decode(encode(SENT)) == SENT
    assert encode(dict(reversed(SENT.items()))) == encode(SENT)
    assert len(encode(SENT)) < 8000
    assert mark_of(annotations_of(MARK)) == MARK
    assert MARK.n_instances == 7
    assert mark_of({keys.FLEET: "token/3/head"}) is None


def test_a_token_is_that_of_its_claims_and_their_earlier_tokens() -> None:
    """Whoever forms the same batch gets the same token."""
    first = fleet_token("r", [("a", ""), ("b", "")])
    assert first == fleet_token("r", [("b", ""), ("a", "")])
    others = {
        fleet_token("r", [("a", "")]),
        fleet_token("r", [("a", first), ("b", "")]),
        fleet_token("s", [("a", ""), ("b", "")]),
    }
    assert first not in others
    assert len(others) == 3
    assert len(first) <= 64


async def test_a_mark_is_written_with_one_patch_where_the_watch_is_up_to_date() -> None:
    """Other annotations stay."""
    kube = MemoryKube(VirtualTime())
    held = MarkedClaim(await claim(kube))
    outcome = await Marks(kube).write(held, MARK)
    assert isinstance(outcome, MarkWritten)
    assert outcome.claim.mark == MARK
    assert outcome.claim.claim.annotations["a"] == "b"


async def test_a_mark_is_written_although_the_watch_is_behind() -> None:
    """Somebody else has annotated the claim."""
    kube = MemoryKube(VirtualTime())
    held = MarkedClaim(await claim(kube))
    await kube.patch(Ref(NODE_CLAIM, "c"), Patch({"metadata": {"annotations": {"x": "y"}}}))
    outcome = await Marks(kube).write(held, MARK)
    assert isinstance(outcome, MarkWritten)
    assert outcome.claim.claim.annotations["x"] == "y"


async def test_a_mark_is_never_written_over_one_that_was_not_seen() -> None:
    """Of two processes one wins, and the other learns the winner's."""
    kube = MemoryKube(VirtualTime())
    held = MarkedClaim(await claim(kube))
    marks = Marks(kube)
    other = FleetMark("other", 0, "head", MARK.request)
    won = await marks.write(held, other)
    lost = await marks.write(held, MARK)
    assert isinstance(won, MarkWritten)
    assert isinstance(lost, MarkTaken)
    assert lost.claim.mark == other
    replaced = await marks.write(won.claim, MARK)
    assert isinstance(replaced, MarkWritten)


async def test_a_refused_token_can_not_be_written_on_its_head() -> None:
    """The process that still tries finds out."""
    kube = MemoryKube(VirtualTime())
    held = MarkedClaim(await claim(kube))
    marks = Marks(kube)
    (record,) = await marks.records()
    assert await marks.refuse(record, MARK.token)
    assert not await marks.refuse(record, MARK.token)  # the claim has changed since
    assert isinstance(await marks.write(held, MARK), MarkTaken)


async def test_a_claim_that_is_gone_or_made_anew_is_not_marked() -> None:
    """Its name may be that of another."""
    kube = MemoryKube(VirtualTime())
    held = MarkedClaim(await claim(kube))
    gone = MarkedClaim(ClaimObject("other", "uid", annotations={"a": "b"}))
    anew = MarkedClaim(ClaimObject("c", "another uid", annotations=held.claim.annotations))
    for one in (gone, anew):
        assert isinstance(await Marks(kube).write(one, MARK), ClaimGone)
    assert (await Marks(kube).records())[0].token == ""
