"""What keeps a load from being driven on a cluster."""


class ClusterInUse(Exception):
    """Something of a load is in the cluster already."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(
            f"{kind} {name} is in the cluster already: name a cluster for tests, or delete what an earlier run has left"
        )


class KindsMissing(Exception):
    """The cluster does not know Kueue's kinds."""

    def __init__(self) -> None:
        super().__init__("the cluster has no ClusterQueues: apply ops/production/deploy/manifests/20-crds.yaml first")


class NobodyAdmits(Exception):
    """No queue becomes active."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no ClusterQueue became active within {seconds:.0f} s: is kuelog running on this cluster?")


class NotRolled(Exception):
    """The archivist could not do what was due."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the log was not rolled: {why}")


class NotMeasured(Exception):
    """A process that was measured could not do its work."""

    def __init__(self, what: str, code: int, output: str) -> None:
        last = output.strip().splitlines()[-1:] or ["it said nothing"]
        super().__init__(f"{what} ended with {code}: {last[0]}")
