"""What an operator may set, where, and how a slip of the hand is told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from dovetail.errors import InputError
from dovetail.model.plan import DisruptionReason
from dovetail.model.policy import MinValuesPolicy, Policy, PreferencePolicy
from dovetail.model.topology import NOTHING, Spread
from dovetail.settings.flags import FLAGS, TABLE
from dovetail.settings.operator import LogLevel, OperatorSettings
from dovetail.settings.readings import FEATURE_GATES
from dovetail.settings.sources import read
from dovetail.settings.table import Flag, flag_text

# The settings of the reference, line by line: flag, environment name, default.
REFERENCE = {
    "karpenter-service": ("KARPENTER_SERVICE", ""),
    "metrics-port": ("METRICS_PORT", "8080"),
    "health-probe-port": ("HEALTH_PROBE_PORT", "8081"),
    "kube-client-qps": ("KUBE_CLIENT_QPS", "200"),
    "kube-client-burst": ("KUBE_CLIENT_BURST", "300"),
    "enable-profiling": ("ENABLE_PROFILING", "false"),
    "disable-controller-warmup": ("DISABLE_CONTROLLER_WARMUP", "true"),
    "disable-leader-election": ("DISABLE_LEADER_ELECTION", "false"),
    "disable-cluster-state-observability": ("DISABLE_CLUSTER_STATE_OBSERVABILITY", "false"),
    "leader-election-name": ("LEADER_ELECTION_NAME", "karpenter-leader-election"),
    "leader-election-namespace": ("LEADER_ELECTION_NAMESPACE", ""),
    "memory-limit": ("MEMORY_LIMIT", "-1"),
    "cpu-requests": ("CPU_REQUESTS", "1000"),
    "log-level": ("LOG_LEVEL", "info"),
    "log-output-paths": ("LOG_OUTPUT_PATHS", "stdout"),
    "log-error-output-paths": ("LOG_ERROR_OUTPUT_PATHS", "stderr"),
    "batch-max-duration": ("BATCH_MAX_DURATION", "10s"),
    "batch-idle-duration": ("BATCH_IDLE_DURATION", "1s"),
    "preference-policy": ("PREFERENCE_POLICY", "Respect"),
    "min-values-policy": ("MIN_VALUES_POLICY", "Strict"),
    "ignore-dra-requests": ("IGNORE_DRA_REQUESTS", "true"),
    "feature-gates": (
        "FEATURE_GATES",
        (
            "CapacityBuffer=false,NodeOverlay=false,NodeRepair=false,ReservedCapacity=true,"
            "SpotToSpotConsolidation=false,StaticCapacity=false"
        ),
    ),
    "scheduler-config": ("SCHEDULER_CONFIG", ""),
}
OWN = {"steer-pods",
    "kubeconfig", "context", "provider", "kubelets", "dry-run", "spot-robustness", "effort",
    "least-saving-per-eviction", "most-evictions-per-day", "discourage-scheduling",
    "deletion-costs",
    "eviction-cost", "node-price", "journal", "journal-max-size", "journal-max-age",
    "dashboard-port", "dashboard-host",
}  # fmt: skip
# A value for every flag that is not its default.
OTHER = {
    "metrics-port": "9000",
    "dashboard-port": "9090",
    "dashboard-host": "::1",
    "health-probe-port": "9001",
    "kube-client-qps": "7",
    "kube-client-burst": "8",
    "memory-limit": "1000000",
    "cpu-requests": "2500",
    "log-level": "debug",
    "log-output-paths": "stdout,/var/log/dovetail.log",
    "batch-max-duration": "1m30s",
    "batch-idle-duration": "250ms",
    "preference-policy": "Ignore",
    "min-values-policy": "BestEffort",
    "feature-gates": "NodeOverlay=true",
    "spot-robustness": "0.5",
    "effort": "3",
    "least-saving-per-eviction": "0.005",
    "most-evictions-per-day": "4",
    "eviction-cost": "30m0s",
    "node-price": "0.025",
    "journal-max-size": "200Mi",
    "journal-max-age": "24h0m0s",
}
WITHOUT_FILE = [flag for flag in FLAGS if flag.name != "scheduler-config"]


def other(flag: Flag) -> str:
    """A value for this flag that is not its default."""
    if flag.is_switch:
        return "false" if TABLE.default(flag) == "true" else "true"
    return OTHER.get(flag.name, f"another-{flag.name}")


def test_every_name_and_default_of_the_reference_is_there() -> None:
    """And what is not the reference's is known to be our own."""
    ours = {
        flag.name: (flag.environment, TABLE.default(flag)) for flag in FLAGS if flag.name not in OWN
    }
    assert ours == REFERENCE
    assert {flag.name for flag in FLAGS} == {*REFERENCE, *OWN}


def test_every_setting_has_its_flag() -> None:
    """A field that nothing sets would be a constant in disguise."""
    fields = {field.name for field in msgspec.structs.fields(OperatorSettings)}
    assert fields == {flag.field for flag in FLAGS} | {"default_spread"}


def test_said_nothing_the_defaults_hold() -> None:
    """Neither flags nor variables; an empty variable says nothing."""
    assert read({}, {}) == OperatorSettings()
    assert read({}, {flag.environment: "" for flag in FLAGS}) == OperatorSettings()


@pytest.mark.parametrize("flag", WITHOUT_FILE, ids=lambda flag: flag.name)
def test_each_flag_sets_its_own_field_in_its_own_type(flag: Flag) -> None:
    """And nothing else."""
    settings = read({flag.name: other(flag)}, {})
    value = getattr(settings, flag.field)
    assert value != getattr(OperatorSettings(), flag.field)
    assert settings == msgspec.structs.replace(OperatorSettings(), **{flag.field: value})
    again = msgspec.convert(msgspec.to_builtins(settings), OperatorSettings)
    assert again == settings


@pytest.mark.parametrize(
    "flag", [flag for flag in WITHOUT_FILE if flag.environment], ids=lambda flag: flag.name
)
def test_a_variable_says_the_same_and_the_flag_wins_over_it(flag: Flag) -> None:
    """Whatever the variable says then."""
    said = {flag.environment: other(flag)}
    assert read({}, said) == read({flag.name: other(flag)}, {})
    default = TABLE.default(flag) or "something"
    assert read({flag.name: default}, said) == read({flag.name: default}, {})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("METRICS_PORT", "eighty", id="a word for a port"),
        pytest.param("KUBE_CLIENT_QPS", "1_000", id="a number as Python writes it"),
        pytest.param("MEMORY_LIMIT", "9" * 40, id="a number without end"),
        pytest.param("ENABLE_PROFILING", "yes", id="a truth that Go does not know"),
        pytest.param("BATCH_MAX_DURATION", "10", id="a span without a unit"),
        pytest.param("BATCH_IDLE_DURATION", "soon", id="no span at all"),
        pytest.param("DOVETAIL_SPOT_ROBUSTNESS", "nan", id="no share"),
    ],
)
def test_a_variable_that_makes_no_sense_is_passed_over(name: str, said: str) -> None:
    """For numbers, truth values and spans."""
    assert read({}, {name: said}) == OperatorSettings()


@pytest.mark.parametrize("said", ["1", "t", "T", "TRUE", "True", "true"])
def test_a_variable_is_true_in_every_way_that_go_knows(said: str) -> None:
    """A flag is true in one way only."""
    assert read({}, {"ENABLE_PROFILING": said}).enable_profiling
    if said != "true":
        with pytest.raises(InputError, match="--enable-profiling: expected true or false"):
            read({"enable-profiling": said}, {})


@pytest.mark.parametrize(
    ("name", "said", "words"),
    [
        pytest.param("log-level", "loud", ["debug or info or error", "'loud'"], id="log level"),
        pytest.param("preference-policy", "respect", ["Respect or Ignore"], id="preferences"),
        pytest.param("min-values-policy", "Never", ["Strict or BestEffort"], id="minValues"),
        pytest.param("feature-gates", "NodeRepair", ["Name=true", "NodeRepair"], id="gates"),
        pytest.param("scheduler-config", "not-there.yaml", ["not-there.yaml"], id="a file"),
        pytest.param("metrics-port", "65536", ["0 to 65535"], id="a port out of range"),
        pytest.param("kube-client-qps", "0", ["above 0"], id="never a request"),
        pytest.param("kube-client-burst", "-1", ["1 to"], id="less than a request"),
        pytest.param("batch-max-duration", "-1s", ["0s or more"], id="time that runs back"),
        pytest.param("spot-robustness", "1.5", ["0 to 1"], id="more than all"),
        pytest.param("journal-max-size", "-1Gi", ["more than nothing"], id="less than nothing"),
    ],
)
def test_a_value_that_cannot_be_meant_stops_the_start(
    name: str, said: str, words: list[str]
) -> None:
    """By flag and by variable, with the name of either and what was expected."""
    (flag,) = (flag for flag in FLAGS if flag.name == name)
    for origin, given, environment in (
        (f"--{name}", {name: said}, {flag.environment: other(flag)}),
        (flag.environment, {}, {flag.environment: said}),
    ):
        with pytest.raises(InputError) as caught:
            read(given, environment)
        assert str(caught.value).startswith(f"{origin}: ")
        for word in words:
            assert word in str(caught.value)


@pytest.mark.parametrize(
    "name", ["metrics-port", "batch-max-duration", "spot-robustness", "journal-max-size"]
)
def test_a_flag_that_makes_no_sense_is_refused(name: str) -> None:
    """Only variables are forgiven; what was typed is quoted, but not without end."""
    with pytest.raises(InputError, match=f"--{name}: ") as caught:
        read({name: "x" * 5000}, {})
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("said", ["0", "-5", "nothing"])
def test_without_cpu_one_core_is_assumed(said: str) -> None:
    """As the reference does."""
    assert read({}, {"CPU_REQUESTS": said}).cpu_requests == 1000


def test_gates_keep_what_they_do_not_name() -> None:
    """Unknown ones are let through."""
    gates = read({}, {"FEATURE_GATES": " NodeOverlay = true , Newer=false,"}).feature_gates
    assert gates == {**FEATURE_GATES, "NodeOverlay": True, "Newer": False}


def test_the_policy_of_decisions_is_what_was_set(tmp_path: Path) -> None:
    """The file of the scheduler is read once, at the start."""
    path = tmp_path / "scheduler.yaml"
    path.write_text(
        "podTopologySpread: {defaultConstraints: [{maxSkew: 2, topologyKey: rack, "
        "whenUnsatisfiable: ScheduleAnyway}]}",
        encoding="utf-8",
    )
    given = {
        "preference-policy": "Ignore",
        "min-values-policy": "BestEffort",
        "effort": "4",
        "spot-robustness": "0.25",
        "scheduler-config": str(path),
        "feature-gates": "SpotToSpotConsolidation=true",
    }
    settings = read(given, {})
    path.unlink()
    assert settings.policy == Policy(
        preference_policy=PreferencePolicy.IGNORE,
        min_values_policy=MinValuesPolicy.BEST_EFFORT,
        effort=4,
        spot_robustness=0.25,
        default_spread=(Spread("rack", NOTHING, max_skew=2, is_hard=False),),
        disrupts_for=tuple(DisruptionReason),
        replaces_spot_by_spot=True,
    )
    assert OperatorSettings().policy == Policy(disrupts_for=tuple(DisruptionReason))


def test_the_size_of_the_journal_is_a_quantity() -> None:
    """As Kubernetes writes sizes."""
    assert OperatorSettings().journal_max_bytes == 2**30
    assert read({"journal-max-size": " 200Mi"}, {}).journal_max_bytes == 200 * 2**20


def test_spans_of_the_api_and_of_memory_have_a_word_for_no_limit() -> None:
    """Negative numbers."""
    assert OperatorSettings().requests_per_second == 200
    assert read({"kube-client-qps": "-1"}, {}).requests_per_second >= 1e6
    assert OperatorSettings().memory_limit_bytes is None
    assert read({"memory-limit": "5"}, {}).memory_limit_bytes == 5


@pytest.mark.parametrize(
    ("cpu_millis", "want"), [(1, 10), (1000, 10), (30_500, 505), (60_000, 1000), (10**9, 1000)]
)
def test_what_is_done_at_once_grows_with_the_cores(cpu_millis: int, want: int) -> None:
    """From one core to sixty, in a straight line."""
    assert OperatorSettings(cpu_requests=cpu_millis).n_at_once(least=10, most=1000) == want


def test_values_are_written_as_flags_take_them() -> None:
    """So that help, tables and environments agree."""
    assert flag_text(timedelta(milliseconds=1500)) == "1.5s"
    assert flag_text(LogLevel.DEBUG) == "debug"
    assert flag_text({"B": False, "A": True}) == "A=true,B=false"


def test_how_calm_it_is_reaches_decisions() -> None:
    """In nanodollars, and no limit as none."""
    assert OperatorSettings().policy == Policy(disrupts_for=tuple(DisruptionReason))
    flags = {
        "least-saving-per-eviction": "0.005",
        "most-evictions-per-day": "0",
        "eviction-cost": "30m",
    }
    policy = read(flags, {}).policy
    assert (policy.least_saving_nanousd, policy.most_evictions) == (5_000_000, 0)
    assert policy.eviction_cost == timedelta(minutes=30)


def test_the_price_per_node_reaches_decisions() -> None:
    """In nanodollars."""
    assert read({"node-price": "0.025"}, {}).policy.node_price_nanousd == 25_000_000
    assert read({}, {"DOVETAIL_NODE_PRICE": "0.01"}).policy.node_price_nanousd == 10_000_000
    with pytest.raises(InputError, match=r'DOVETAIL_NODE_PRICE: .*from "0" to "1000"'):
        read({}, {"DOVETAIL_NODE_PRICE": "free"})


@pytest.mark.parametrize("said", ["a little", "-0.1", "nan"])
def test_how_calm_it_is_may_not_be_misspelled(said: str) -> None:
    """Not in a variable either: nobody would notice."""
    for name in ("DOVETAIL_LEAST_SAVING_PER_EVICTION", "DOVETAIL_MOST_EVICTIONS_PER_DAY"):
        with pytest.raises(InputError, match=f"{name}: .*expected"):
            read({}, {name: said})


def test_whether_pods_are_asked_to_keep_off_nodes_reaches_decisions() -> None:
    """Yes, unless somebody says no."""
    assert OperatorSettings().policy.discourages
    assert not read({"discourage-scheduling": "false"}, {}).policy.discourages
    assert not read({}, {"DOVETAIL_DISCOURAGE_SCHEDULING": "false"}).policy.discourages
    assert OperatorSettings().policy.yields
    assert not read({"deletion-costs": "false"}, {}).policy.yields
