"""Does a plugin bring what it promises? Laws that every plugin obeys, for its author to run.

    @pytest.mark.parametrize("law", plugin_conformance.LAWS, ids=lambda law: law.__name__)
    def test_my_plugin_obeys(law: plugin_conformance.PluginLaw) -> None:
        law(my_cloud.PLUGIN)

A law that is broken raises AssertionError. What the provider itself must do is in
`testing/cloud_conformance.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.api.crds import crds
from dovetail.api.older.door import ConversionOptions
from dovetail.cloud.plugin import ProviderPlugin
from dovetail.settings.flags import TABLE
from dovetail.settings.sources import read_table

Plugin = ProviderPlugin[None, msgspec.Struct]
PluginLaw = Callable[[Plugin], None]


def its_kinds_are_node_classes_with_definitions(plugin: Plugin) -> None:
    """Each is read as a node class, in a group that is not ours, and becomes a definition."""
    assert plugin.node_classes
    for kind in plugin.node_classes:
        assert issubclass(kind.wire_type, api.NodeClass), kind.name
        assert not kind.is_namespaced, kind.name
        assert (kind.group, kind.name) not in api.KINDS
        assert labels.is_of_provider(f"{kind.group}/{kind.name.lower()}"), kind.group
    ours, theirs = len(crds()), len(crds((plugin.extension,)))
    assert theirs == ours + len(plugin.extension.node_classes)


def a_node_class_without_a_spec_is_judged_and_never_fails(plugin: Plugin) -> None:
    """Its own rules answer with problems, whatever is missing."""
    for kind in plugin.node_classes:
        tree: dict[str, api.Tree] = {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {"name": "default"},
        }
        judged = api.problems(api.read(kind, tree), (plugin.extension,))
        assert all(isinstance(problem, api.FieldProblem) for problem in judged)


def its_label_keys_are_its_own_and_may_be_required(plugin: Plugin) -> None:
    """Each has a domain by which decisions know that it is a provider's, and no rule of the plugin
    refuses it, nor the label that names a node class.
    """
    own = [f"{kind.group}/{kind.name.lower()}" for kind in plugin.node_classes]
    for key in (*plugin.label_keys, *own):
        assert labels.is_of_provider(key), key
        assert not labels.is_restricted(key), key
        for rule in plugin.extension.requirement_rules:
            assert rule.holds is None or rule.holds(key), f"{key}: {rule.message}"


def its_catalogues_state_every_label_that_it_fixes(plugin: Plugin) -> None:
    """So that pods and pools may ask for each, and get no type that does not have it."""
    for catalogue in plugin.catalogues:
        types = catalogue.instance_types()
        assert types, catalogue.name
        for instance_type in types:
            missing = set(plugin.label_keys) - instance_type.requirements.keys()
            assert not missing, f"{instance_type.name}: {sorted(missing)}"


def its_flags_set_its_settings(plugin: Plugin) -> None:
    """Each sets a field of the settings, none has the name of a flag of ours, and their defaults
    can be read back.
    """
    table = plugin.settings
    fields = {field.name for field in msgspec.structs.fields(table.defaults)}
    assert {flag.field for flag in table.flags} <= fields
    names = [flag.name for flag in table.flags]
    assert len(set(names)) == len(names)
    assert not {flag.name for flag in TABLE.flags} & set(names)
    ours = {flag.environment for flag in TABLE.flags if flag.environment}
    assert not ours & {flag.environment for flag in table.flags}
    assert read_table(table, {}, {}) == table.defaults


def its_older_kinds_become_its_node_class(plugin: Plugin) -> None:
    """An object of each older version without a spec is converted, or an error says why not."""
    older = plugin.extension.older
    if older is None:
        return
    assert (older.group, older.kind) in {(kind.group, kind.name) for kind in plugin.node_classes}
    for kind in older.kinds:
        for version in kind.versions:
            tree: dict[str, api.Tree] = {
                "apiVersion": f"{kind.group}/{version}",
                "kind": kind.name,
                "metadata": {"name": "default"},
            }
            draft = kind.convert(tree, ConversionOptions(is_for_reading=True))
            assert draft.tree["kind"] == older.kind or any(item.is_error for item in draft.notices)
            assert draft.tree["apiVersion"] != tree["apiVersion"]
    for requirement in older.default_requirements(frozenset()):
        assert requirement.keys() >= {"key", "operator"}


def its_rights_name_what_they_are_for(plugin: Plugin) -> None:
    """No wildcard, no rule without verbs; reading changes nothing, and node classes are read."""
    access = plugin.access
    for rule in (*access.reading, *access.writing, *access.administration, *access.kubelets):
        assert rule.resources
        assert rule.verbs
        assert "*" not in "".join((*rule.resources, *rule.verbs))
    reading = {"get", "list", "watch"}
    assert {verb for rule in access.reading for verb in rule.verbs} <= reading
    for kind in plugin.node_classes:
        assert any(
            rule.group == kind.group and kind.plural in rule.resources and reading <= {*rule.verbs}
            for rule in access.reading
        ), kind.name


LAWS: Final[Sequence[PluginLaw]] = (
    its_kinds_are_node_classes_with_definitions,
    a_node_class_without_a_spec_is_judged_and_never_fails,
    its_label_keys_are_its_own_and_may_be_required,
    its_catalogues_state_every_label_that_it_fixes,
    its_flags_set_its_settings,
    its_older_kinds_become_its_node_class,
    its_rights_name_what_they_are_for,
)
