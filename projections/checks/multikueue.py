"""Checks by which workloads run on other clusters: to which clusters a check leads, and which of these can be used.

Rule: docs/rules/multikueue.md#active
"""

from events.api.check_controllers import MULTIKUEUE, PROVISIONING
from events.multikueue import MultiKueueConfigObserved
from events.quota import ClusterQueueObserved
from projections.checks.parameters import parameters_problem
from projections.configuration import Configuration

CONFIG_KIND = "MultiKueueConfig"


def is_multikueue(world: Configuration, check: str) -> bool:
    """Whether workloads that need this check run on other clusters."""
    found = world.checks.get(check)
    return found is not None and found.controller == MULTIKUEUE


def served(world: Configuration) -> bool:
    """Whether it is kuelog that answers such checks."""
    return world.settings.multikueue is not None


def multikueue_config(world: Configuration, check: str) -> MultiKueueConfigObserved | None:
    """The configuration that a check names; None when it can't be had, for the reason that `config_problem` gives."""
    parameters = world.checks[check].parameters
    if parameters is None or config_problem(world, check):
        return None
    return world.multikueue_configs.get(parameters.name)


def is_listed(world: Configuration, check: str, cluster: str) -> bool:
    """Whether the configuration of a check names a cluster; where it can't be had, nothing is known to have left it."""
    config = multikueue_config(world, check) if check in world.checks else None
    return config is None or cluster in config.clusters


def config_problem(world: Configuration, check: str) -> str:
    """What is wrong with the parameters of such a check; empty when nothing is."""
    return parameters_problem(world, check, CONFIG_KIND, world.multikueue_configs)


def connected(world: Configuration, cluster: str) -> bool:
    """Whether a worker cluster is there and can be reached."""
    found = world.multikueue_clusters.get(cluster)
    return found is not None and found.active


def unusable(world: Configuration, config: MultiKueueConfigObserved) -> tuple[list[str], list[str]]:
    """The clusters of a configuration that there are no objects of, and those that can't be reached."""
    missing = [name for name in config.clusters if name not in world.multikueue_clusters]
    inactive = [
        name
        for name in config.clusters
        if (found := world.multikueue_clusters.get(name)) is not None and not found.active
    ]
    return missing, inactive


def standing(world: Configuration, check: str) -> tuple[bool, str, str]:
    """Whether a check can be used, with reason and message; it can as long as one of its clusters can be reached."""
    config = multikueue_config(world, check)
    if config is None:
        message = f"Cannot load the AdmissionChecks parameters: {config_problem(world, check)}"
        return False, "BadConfig", message
    missing, inactive = unusable(world, config)
    if not missing and not inactive:
        return True, "Active", "The admission check is active"
    told = [
        f"{what} clusters: [{' '.join(names)}]"
        for what, names in (("Missing", missing), ("Inactive", inactive))
        if names
    ]
    some = len(missing) + len(inactive) < len(config.clusters)
    return some, "SomeActiveClusters" if some else "NoUsableClusters", ", ".join(told)


def misused(world: Configuration, queue: ClusterQueueObserved) -> list[tuple[str, str]]:
    """Why a queue can't use its checks of other clusters, as reasons and messages."""
    ours = [rule for rule in queue.checks if is_multikueue(world, rule.name)]
    if not ours:
        return []
    found: list[tuple[str, str]] = []
    names = ",".join(rule.name for rule in ours)
    if len(ours) > 1:
        message = f"Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: {names}"
        found.append(("MultipleMultiKueueAdmissionChecks", message))
    by_flavor = ",".join(rule.name for rule in ours if rule.flavors)
    if by_flavor:
        message = f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {by_flavor}"
        found.append(("MultiKueueAdmissionCheckAppliedPerFlavor", message))
    asking = ",".join(
        rule.name
        for rule in queue.checks
        if (check := world.checks.get(rule.name)) is not None and check.controller == PROVISIONING
    )
    if asking:
        message = (
            f"Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: {names}, {asking}"
        )
        found.append(("MultiKueueWithProvisioningRequest", message))
    return found
