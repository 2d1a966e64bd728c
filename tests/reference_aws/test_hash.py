"""The hash of a node class is that of the reference, so that taking over drifts nothing."""

from __future__ import annotations

from dovetail.api.decoding import decode
from dovetail.providers.aws.bootstrap.families import family_of
from dovetail.providers.aws.node_class.hashing import HASH_VERSION, node_class_hash
from dovetail.providers.aws.node_class.types import EC2NodeClass
from tests.reference_aws.conftest import Judged


def test_hashes_are_those_of_the_reference(judged: list[Judged]) -> None:
    """For every generated node class, with the same bundle of the cluster's authority."""
    differences = []
    for each in judged:
        node_class = decode(EC2NodeClass, each.question["NodeClass"])
        family, bundle = family_of(node_class.spec), each.question["CABundle"]
        ours = node_class_hash(node_class, family=family, ca_bundle=bundle)
        if ours != each.answer.hash:
            differences.append((each.seed, ours, each.answer.hash))
    assert differences[:10] == []


def test_the_version_of_the_hash_is_that_of_the_reference(judged: list[Judged]) -> None:
    """A claim with another version is stamped again instead of drifting."""
    assert {each.answer.hash_version for each in judged} == {HASH_VERSION}


def test_hashes_tell_node_classes_apart(judged: list[Judged]) -> None:
    """The comparison would notice a constant."""
    assert len({each.answer.hash for each in judged}) > len(judged) // 2
