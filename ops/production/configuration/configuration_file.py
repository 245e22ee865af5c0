"""The configuration file: Kueue's own format, read for what it says about decisions.

Rule: docs/rules/objects.md#configuration

What concerns only Kueue's manager process (leader election, webhooks, client limits) is accepted and named as of no
meaning here; what nobody knows is an error.
"""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from events.api.meta import Selector
from events.event import Millis
from events.json_object import JsonObject, is_object, object_at
from events.quantity import parse_quantity
from events.settings import (
    DevicePolicy,
    MissingQueuePolicy,
    PodsReadyRule,
    QuotaCheckStrategy,
    RequeuingTimestamp,
    SettingsObserved,
    Transformation,
    TransformationStrategy,
)
from ops.files.reading import Unreadable, yaml_file, yaml_of
from ops.production.configuration.device_classes import MappingPart, device_class_mappings
from ops.production.configuration.durations import duration
from ops.production.configuration.empty_keys import without_empty_keys
from ops.production.configuration.fair_sharing_settings import (
    AdmissionFairSharingPart,
    FairSharingPart,
    admission_fair_sharing,
    fair_strategies,
)
from ops.production.configuration.field_reading import at, duration_at
from ops.production.configuration.gates import named_gates
from ops.production.configuration.hami_settings import HamiPart, hami_settings
from ops.production.configuration.job_kinds import Integrations, KindPart, frameworks, job_kinds
from ops.production.configuration.managed_namespaces import OWN, managed_namespaces
from ops.production.configuration.metric_labels import GATE, MetricsPart, metric_labels
from ops.production.configuration.metric_labels import WITHOUT_MEANING as OF_METRICS
from ops.production.configuration.multikueue_settings import WITHOUT_MEANING, MultiKueuePart, multikueue_settings
from ops.production.configuration.versions import in_latest
from projections.feature_gates import enabled
from services.validation.unsupported import problems_in
from services.watcher.fields.pod_shapes import selector
from services.watcher.fields.problems import Refused

KEY = "controller_manager_config.yaml"
"""The key of a ConfigMap under which the file lies."""
IGNORED = frozenset(
    {
        "clientConnection",
        "controller",
        "health",
        "internalCertManagement",
        "leaderElection",
        "pprofBindAddress",
        "queueVisibility",
        "tls",
        "visibilityServer",
        "webhook",
    }
)
"""Settings of Kueue's manager process: accepted, and of no meaning here."""


class ConfigurationBroken(Exception):
    """The configuration file can't be read, or says what can't be; the message names the field."""

    def __init__(self, source: Path | str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")
        self.problem = problem
        """What is wrong, without the file."""


class _Part(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A part of the file in which every field is known."""


Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
"""A number of things or seconds as Kueue takes it."""


class _Requeuing(_Part, frozen=True, kw_only=True):
    timestamp: RequeuingTimestamp = RequeuingTimestamp.EVICTION
    """Which moment decides its place in line when it comes back."""
    backoff_limit_count: Count | None = None
    """After so many returns it is deactivated; never without it."""
    backoff_base_seconds: Count = 60
    """How long it waits after the first time, in seconds; twice as long after each further one."""
    backoff_max_seconds: Count = 3600
    """How long it waits at most, in seconds."""


class _WaitForPodsReady(_Part, frozen=True, kw_only=True):
    enable: bool = True
    """Whether it is waited for; on unless the file says otherwise, as in Kueue."""
    timeout: str = "30m"
    """A workload whose pods are not all ready so long after its admission is evicted; a duration."""
    recovery_timeout: str | None = None
    """The same for pods that were ready and are not any more; without it, as long as for the first time (`timeout`). A duration."""
    block_admission: bool = False
    """Whether nobody else is admitted meanwhile."""
    requeuing_strategy: _Requeuing = _Requeuing()
    """What becomes of who was evicted for it."""


class _Transformation(_Part, frozen=True, kw_only=True):
    input: str
    """The resource that pods ask for."""
    strategy: TransformationStrategy = TransformationStrategy.RETAIN
    """Whether it is still counted itself (Retain), or only what it is made into (Replace)."""
    multiply_by: str = ""
    """A resource with whose amount all outputs are multiplied, such as the number of cards."""
    outputs: dict[str, str | int | float] = {}
    """By resource: how much of it one unit of the input counts as; a quantity."""


class _Resources(_Part, frozen=True, kw_only=True):
    exclude_resource_prefixes: tuple[str, ...] = ()
    """Resources that begin so are not counted against quota."""
    transformations: tuple[_Transformation, ...] = ()
    """Resources that are counted as other resources."""
    quota_check_strategy: QuotaCheckStrategy = QuotaCheckStrategy.BLOCK_UNDECLARED
    """What becomes of pods that ask for a resource that their queue does not declare: they wait (BlockUndeclared), or it is not counted (IgnoreUndeclared)."""
    device_class_mappings: tuple[MappingPart, ...] = ()
    """Which device classes (resource.k8s.io) are counted as which resource of quota (claims.md)."""


class _Retention(_Part, frozen=True, kw_only=True):
    after_finished: str | None = None
    """How long the object of a finished workload stays; for ever without it. A duration."""
    after_deactivated_by_kueue: str | None = None
    """How long that of one stays which a rule has deactivated. A duration."""


class _RetentionPolicies(_Part, frozen=True, kw_only=True):
    workloads: _Retention = _Retention()
    """Of Workload objects."""


class _Kuelog(_Part, frozen=True, kw_only=True):
    """What only kuelog knows."""

    job_kinds: tuple[KindPart, ...] = ()
    """Further kinds of jobs (jobs.md)."""
    devices: bool = True
    """Whether workloads that ask for cards need a reservation of cards; false counts only quota, and leaves cards to HAMi."""
    device_totals: bool = True
    """Whether memory and cores of a card count against quota for each card of a container."""
    device_policies: dict[str, DevicePolicy] = {}
    """By flavor: what it means where its cards are fewer than its quota; Ignore where none is named, or Warn, Cap."""
    missing_local_queues: MissingQueuePolicy = MissingQueuePolicy.WAIT
    """What becomes of a new job that names a local queue that is not there: it waits until that is made (Wait), or the webhook refuses it (Refuse)."""
    hami: HamiPart = HamiPart()
    """Where HAMi's configuration is, and the options of its scheduler."""


class ConfigurationFile(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Kueue's configuration file as it is written; fields in `IGNORED` are taken and mean nothing here."""

    api_version: str = ""
    """`config.kueue.x-k8s.io/v1beta2`, which it is without it, or `v1beta1`: there `waitForPodsReady` and `fairSharing` are off unless they say `enable: true`, and then `timeout` is `5m` and `blockAdmission` is on."""
    kind: str = "Configuration"
    """The kind; a ConfigMap with the file under `controller_manager_config.yaml` is taken as well."""
    namespace: str = OWN
    """The namespace in which kuelog itself runs, where no jobs are managed; manifests and chart say it themselves."""
    fair_sharing: FairSharingPart | None = None
    """Shares of queues and cohorts; without it nobody is compared by shares."""
    admission_fair_sharing: AdmissionFairSharingPart | None = None
    """Past usage of local queues; without it nobody is ordered by it."""
    wait_for_pods_ready: _WaitForPodsReady = _WaitForPodsReady()
    """Until all pods of a workload are ready."""
    resources: _Resources = _Resources()
    """How requests of pods are counted against quota."""
    integrations: Integrations = Integrations()
    """Which kinds of jobs are managed."""
    object_retention_policies: _RetentionPolicies = _RetentionPolicies()
    """How long objects stay that are over."""
    multi_kueue: MultiKueuePart = MultiKueuePart()
    """How workloads are dispatched to other clusters."""
    metrics: MetricsPart = MetricsPart()
    """What metrics bear besides; where they are served is an option here (`--metrics`)."""
    feature_gates: dict[str, bool] = {}
    """Kueue's feature gates that differ from their defaults, by their names of now or of Kueue 0.17; one that nobody knows is an error, and one that means nothing here is named when it is read."""
    manage_jobs_without_queue_name: bool = False
    """Whether jobs that name no queue are held back, too, until they name one."""
    managed_jobs_namespace_selector: Selector | None = None
    """A label selector of the namespaces whose jobs are managed, which may not match `kube-system`; all but that and our own without it."""
    kuelog: _Kuelog = _Kuelog()
    """What only kuelog knows."""


class ReadConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a file, and what in it has no meaning here."""

    settings: SettingsObserved
    ignored: tuple[str, ...] = ()


def read_configuration(path: Path) -> ReadConfiguration:
    """The configuration in a file, or under `controller_manager_config.yaml` of a ConfigMap. Raises `ConfigurationBroken`."""
    return configuration_of(document(path), path)


def configuration_of(written: JsonObject, source: Path | str) -> ReadConfiguration:
    """The configuration that these fields are; `source` is where they come from. Raises `ConfigurationBroken`."""
    found = without_empty_keys(written)
    unknown = sorted(map(str, set(written) - IGNORED - {_camel(name) for name in ConfigurationFile.__struct_fields__}))
    refused = [f"{one.field}: {one.message}" for one in problems_in({**found, "kind": "Configuration"})]
    if problems := [*([f"unknown field {', '.join(unknown)}"] if unknown else []), *refused]:
        raise ConfigurationBroken(source, "; ".join(problems))
    try:
        file = msgspec.convert(in_latest(found), type=ConfigurationFile)
        named = named_gates(file.feature_gates)
        settings = _settings(file, named.gates)
        ignored = {*(IGNORED & set(found)), *named.ignored}
        if "podOptions" in object_at(found, "integrations"):
            ignored |= {"integrations.podOptions"}
        ignored |= {f"multiKueue.{one}" for one in WITHOUT_MEANING if one in object_at(found, "multiKueue")}
        ignored |= {f"metrics.{one}" for one in OF_METRICS if one in object_at(found, "metrics")}
        if file.metrics.custom_labels and not enabled(settings, GATE):
            ignored |= {f"metrics.customLabels without the feature gate {GATE}"}
        return ReadConfiguration(settings=settings, ignored=tuple(sorted(ignored)))
    except msgspec.ValidationError as problem:
        what, _, where = str(problem).partition(" - at `")
        field = where.rstrip("`").removeprefix("$.")
        raise ConfigurationBroken(source, f"{field}: {what}" if field else what) from problem
    except (ValueError, Refused) as problem:
        raise ConfigurationBroken(source, str(problem)) from problem


def document(path: Path) -> JsonObject:
    """The fields of a file, or of the ConfigMap that it is. Raises `ConfigurationBroken`."""
    try:
        return _document(yaml_file(path) or {}, path)
    except Unreadable as problem:
        raise ConfigurationBroken(path, problem.what) from problem


def in_config_map(value: JsonObject) -> str | None:
    """The text of a configuration file that a ConfigMap holds; None where it holds none, or is no ConfigMap."""
    inner = object_at(value, "data").get(KEY) if value.get("kind") == "ConfigMap" else None
    return inner if isinstance(inner, str) else None


def _document(found: Any, path: Path) -> JsonObject:
    if is_object(found) and found.get("kind") == "ConfigMap":
        inner = in_config_map(found)
        found = None if inner is None else yaml_of(inner)
    if not is_object(found) or found.get("kind", "Configuration") != "Configuration":
        raise ConfigurationBroken(path, "expected a Configuration of config.kueue.x-k8s.io, or a ConfigMap with one")
    return found


def _settings(file: ConfigurationFile, gates: dict[str, bool]) -> SettingsObserved:
    fair, retention = file.fair_sharing, file.object_retention_policies.workloads
    local = file.metrics.local_queue_metrics
    found = SettingsObserved(
        fair_sharing=fair is not None and fair.enable,
        fair_strategies=fair_strategies(fair),
        admission_fair_sharing=admission_fair_sharing(file.admission_fair_sharing),
        pods_ready=_pods_ready(file.wait_for_pods_ready),
        exclude_resource_prefixes=file.resources.exclude_resource_prefixes,
        transformations=_transformations(file.resources.transformations),
        device_class_mappings=device_class_mappings(file.resources.device_class_mappings, gates),
        undeclared=file.resources.quota_check_strategy,
        gates=gates,
        retain_finished=duration_at("objectRetentionPolicies.workloads.afterFinished", retention.after_finished),
        retain_deactivated=duration_at(
            "objectRetentionPolicies.workloads.afterDeactivatedByKueue", retention.after_deactivated_by_kueue
        ),
        devices=file.kuelog.devices,
        device_totals=file.kuelog.device_totals,
        device_policies=dict(sorted(file.kuelog.device_policies.items())),
        frameworks=frameworks(file.integrations).frameworks,
        external_frameworks=file.integrations.external_frameworks,
        job_kinds=job_kinds(file.kuelog.job_kinds),
        managed_namespaces=managed_namespaces(file.managed_jobs_namespace_selector, file.namespace or OWN),
        without_queue=file.manage_jobs_without_queue_name,
        missing_queues=file.kuelog.missing_local_queues,
        copied_labels=tuple(sorted(set(file.integrations.label_keys_to_copy))),
        hami=hami_settings(file.kuelog.hami),
        multikueue=multikueue_settings(file.multi_kueue),
        metric_labels=metric_labels(file.metrics.custom_labels),
        local_queue_metrics=local is None or local.enable,
        measured_local_queues=selector(
            local.local_queue_selector if local is not None else None, "metrics.localQueueMetrics.localQueueSelector"
        ),
    )
    if not enabled(found, GATE):
        found = replace(found, metric_labels=())
    if not enabled(found, "LocalQueueMetrics"):
        found = replace(found, local_queue_metrics=False)
    if enabled(found, "DisableWaitForPodsReady"):
        found = replace(found, pods_ready=None)
    return found if enabled(found, "MultiKueue") else replace(found, multikueue=None)


def _pods_ready(rule: _WaitForPodsReady) -> PodsReadyRule | None:
    if not rule.enable:
        return None
    again = rule.requeuing_strategy
    return PodsReadyRule(
        timeout=at("waitForPodsReady.timeout", _more_than_nothing, rule.timeout),
        recovery_timeout=duration_at("waitForPodsReady.recoveryTimeout", rule.recovery_timeout),
        block_admission=rule.block_admission,
        timestamp=again.timestamp,
        backoff_limit=again.backoff_limit_count,
        backoff_base=again.backoff_base_seconds * 1000,
        backoff_max=again.backoff_max_seconds * 1000,
    )


def _more_than_nothing(text: str) -> Millis:
    """Go's zero is what nobody has written."""
    found = duration(text)
    if not found:
        raise ValueError("Required value: write a duration of more than 0, such as 30m")
    return found


def _transformations(parts: tuple[_Transformation, ...]) -> tuple[Transformation, ...]:
    where = "resources.transformations"
    for index, one in enumerate(parts):
        if any(before.input == one.input for before in parts[:index]):
            raise ValueError(f'{where}[{index}].input: Duplicate value: "{one.input}"')
    return tuple(
        Transformation(
            input=one.input,
            strategy=one.strategy,
            multiply_by=one.multiply_by,
            outputs={
                name: at(f"{where}[{index}].outputs[{name}]", _quantity, factor)
                for name, factor in sorted(one.outputs.items())
            },
        )
        for index, one in enumerate(parts)
    )


def _quantity(value: str | float) -> str:
    if parse_quantity(value) < 0:
        raise ValueError(f"{value!r} is negative: write a quantity of at least 0")
    return str(value)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
