"""What the configuration file says of other clusters: who nominates them, and how long one that is lost is waited for.

Rule: docs/rules/multikueue.md#settings
"""

import re
from typing import Literal

import msgspec

from events.multikueue import BY_ESTIMATE, INCREMENTAL, AccessProvider, ClusterOrder, MultiKueueSettings
from ops.production.configuration.durations import duration
from services.jobs.kinds.managed_by import has_adapter, parts_of

_PLAIN = MultiKueueSettings()
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
WITHOUT_MEANING = ("gcInterval",)
"""Fields that are checked and mean nothing here."""


class _IncrementalPart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The part `multiKueue.incrementalDispatcherConfig`."""

    step_size: int = _PLAIN.step_size
    """How many clusters are nominated at once, at least 1."""


class _ExternalFramework(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """One of the part `multiKueue.externalFrameworks`."""

    name: str
    """The kind, as `Kind.version.group`."""


class _ByEstimatePart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The part `multiKueue.byEstimateConfig`, which is kuelog's own."""

    order: tuple[ClusterOrder, ...] = _PLAIN.order
    """By what clusters are preferred, what counts most first: EarliestStart, Price, Locality, Spread."""
    timeout: str = "10s"
    """How long answers are waited for, longer than nothing; a duration."""


class _Variable(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """One of the variables that a program gets besides those of the service."""

    name: str
    """Its name."""
    value: str = ""
    """What it holds."""


class _ExecConfig(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A program that prints an ExecCredential, as in a kubeconfig."""

    command: str = ""
    """The program: its path, or its name where it is found by `PATH`."""
    args: tuple[str, ...] | None = None
    """Its arguments."""
    env: tuple[_Variable, ...] | None = None
    """Variables that it gets besides those of the service. All of this stands on the log: name secrets by files."""
    api_version: str = ""
    """The version of what it prints: `client.authentication.k8s.io/v1` or `v1beta1`."""
    interactive_mode: Literal["", "Never", "IfAvailable", "Always"] = ""
    """Has to be there, as in Kueue. Whatever it says, nobody answers the program."""
    provide_cluster_info: bool = False
    """Whether it is told of which cluster, in `KUBERNETES_EXEC_INFO`."""
    install_hint: str = ""
    """Of no meaning here."""


class _AccessProviderPart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """One who gives access to clusters."""

    name: str = ""
    """The name by which ClusterProfiles name it in `status.accessProviders`."""
    exec_config: _ExecConfig = _ExecConfig()
    """What it runs."""


class _ClusterProfilePart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The part `multiKueue.clusterProfile`."""

    access_providers: tuple[_AccessProviderPart, ...] = ()
    """Who gives access to clusters that ClusterProfiles describe; the first that one of these names."""
    credentials_providers: tuple[_AccessProviderPart, ...] = ()
    """The older name of the same; one of the two."""


class MultiKueuePart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The part `multiKueue` of the configuration file."""

    gc_interval: str = "1m"
    """Of no meaning here: what nobody wants in a worker cluster goes as soon as it is seen. A duration."""
    origin: str = _PLAIN.origin
    """What the label `kueue.x-k8s.io/multikueue-origin` says on all that is made in worker clusters."""
    worker_lost_timeout: str = "15m"
    """How long a workload stays admitted in a cluster that can't be reached; a duration."""
    dispatcher_name: str = _PLAIN.dispatcher
    """Who nominates clusters: all at once, some after others (`kueue.x-k8s.io/multikueue-dispatcher-incremental`), by what clusters answer when they are asked beforehand (`kuelog.io/multikueue-dispatcher-by-estimate`), or somebody else, of whatever name."""
    incremental_dispatcher_config: _IncrementalPart | None = None
    """How the second of these goes about it."""
    external_frameworks: tuple[_ExternalFramework, ...] = ()
    """Kinds of `kuelog.jobKinds` that may run on other clusters, too: their jobs say so at `.spec.managedBy`."""
    by_estimate_config: _ByEstimatePart | None = None
    """How the third of these goes about it; kuelog's own."""
    cluster_profile: _ClusterProfilePart | None = None
    """How clusters are reached that a MultiKueueCluster names by a ClusterProfile (gate `MultiKueueClusterProfile`)."""


def multikueue_settings(part: MultiKueuePart) -> MultiKueueSettings:
    """The settings. Raises `ValueError` in Kueue's words, naming the field that is wrong."""
    _not_negative("multiKueue.gcInterval", part.gc_interval)
    if _LABEL_VALUE.fullmatch(part.origin) is None:
        instead = "write at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
        raise ValueError(f'multiKueue.origin: Invalid value: "{part.origin}": a valid label must be given: {instead}')
    steps = part.incremental_dispatcher_config
    if steps is not None and part.dispatcher_name != INCREMENTAL:
        only = "incrementalDispatcherConfig is only valid when dispatcherName is set to the incremental dispatcher"
        raise ValueError(f"multiKueue.incrementalDispatcherConfig: {only}: {INCREMENTAL}")
    if steps is not None and steps.step_size < 1:
        where = "multiKueue.incrementalDispatcherConfig.stepSize"
        raise ValueError(f"{where}: Invalid value: {steps.step_size}: must be greater than or equal to 1")
    order, timeout = _by_estimate(part)
    return MultiKueueSettings(
        origin=part.origin or _PLAIN.origin,
        worker_lost_timeout=_not_negative("multiKueue.workerLostTimeout", part.worker_lost_timeout),
        dispatcher=part.dispatcher_name,
        external_frameworks=_external(part.external_frameworks),
        step_size=(steps or _IncrementalPart()).step_size,
        order=order,
        estimate_timeout=timeout,
        access_providers=_access_providers(part.cluster_profile),
    )


def _access_providers(part: _ClusterProfilePart | None) -> tuple[AccessProvider, ...]:
    where = "multiKueue.clusterProfile"
    if part is None:
        return ()
    if part.access_providers and part.credentials_providers:
        both = "accessProviders and credentialsProviders are mutually exclusive"
        raise ValueError(f"{where}.credentialsProviders: Forbidden: {both}: leave credentialsProviders out")
    field = "credentialsProviders" if part.credentials_providers else "accessProviders"
    found: list[AccessProvider] = []
    for index, one in enumerate(part.access_providers or part.credentials_providers):
        at, runs = f"{where}.{field}[{index}]", one.exec_config
        required = {
            "name": one.name,
            "execConfig.command": runs.command,
            "execConfig.apiVersion": runs.api_version,
            "execConfig.interactiveMode": runs.interactive_mode,
        }
        missing = next((name for name, value in required.items() if not value), None)
        if missing is not None:
            raise ValueError(f"{at}.{missing}: Required value: write one")
        found.append(
            AccessProvider(
                name=one.name,
                command=runs.command,
                args=runs.args or (),
                env={each.name: each.value for each in runs.env or ()},
                api_version=runs.api_version,
                cluster_info=runs.provide_cluster_info,
            )
        )
    return tuple(found)


def _external(found: tuple[_ExternalFramework, ...]) -> tuple[str, ...]:
    names: list[str] = []
    for index, one in enumerate(found):
        where = f"multiKueue.externalFrameworks[{index}].name"
        kind, group = parts_of(one.name)
        if not kind or not group:
            raise ValueError(f"{where}: Invalid value: \"{one.name}\": must be in 'kind.version.group' format")
        if has_adapter(group, kind):
            raise ValueError(f'{where}: Invalid value: "{one.name}": conflicts with a built-in MultiKueue adapter')
        if one.name in names:
            raise ValueError(f'{where}: Duplicate value: "{one.name}"')
        names.append(one.name)
    return tuple(names)


def _by_estimate(part: MultiKueuePart) -> tuple[tuple[ClusterOrder, ...], int]:
    """By what clusters are preferred, and how long answers are waited for."""
    found, where = part.by_estimate_config, "multiKueue.byEstimateConfig"
    if found is None:
        return _PLAIN.order, _PLAIN.estimate_timeout
    if part.dispatcher_name != BY_ESTIMATE:
        raise ValueError(f"{where}: is only valid when dispatcherName is {BY_ESTIMATE}")
    if not found.order or len(set(found.order)) < len(found.order):
        known, named = ", ".join(ClusterOrder), ", ".join(found.order)
        raise ValueError(f'{where}.order: Invalid value: "{named}": name some of {known}, each once')
    timeout = _not_negative(f"{where}.timeout", found.timeout)
    if not timeout:
        raise ValueError(f'{where}.timeout: Invalid value: "{found.timeout}": must be greater than 0')
    return found.order, timeout


def _not_negative(field: str, text: str) -> int:
    if text.startswith("-"):
        raise ValueError(f'{field}: Invalid value: "{text}": must be greater than or equal to 0')
    try:
        return duration(text)
    except ValueError as problem:
        raise ValueError(f"{field}: {problem}") from problem
