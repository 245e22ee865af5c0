"""What a job, a queue or a configuration may ask for that kuelog does not support yet, and the message about it.

A workload that asks for it is not admitted, with this message, and `kuelog lint` reports it beforehand: admitted without
it, the workload would run otherwise than it was meant to.
"""

from collections.abc import Mapping

import msgspec


class Unsupported(msgspec.Struct, frozen=True, kw_only=True):
    """A feature that may be asked for and is not supported yet."""

    code: str
    """The reason in a condition, and the code of what lint finds."""
    what: str
    consequence: str
    instead: str

    @property
    def message(self) -> str:
        """The message of the condition: what is asked for, and what would follow from ignoring it."""
        return f"{self.what[0].upper()}{self.what[1:]}, which is not done yet: {self.consequence}"


ELASTIC = Unsupported(
    code="ElasticJobNotSupported",
    what="it wants to change its size while it runs and is no Job, RayCluster, RayJob or RayService",
    consequence="pods that come later would have no quota",
    instead="leave the annotation out: the job is queued anew in its new size",
)
CLAIMS = Unsupported(
    code="ResourceClaimsNotSupported",
    what="its pods claim devices (resource.k8s.io)",
    consequence="what they claim would be charged to nobody",
    instead="ask for the devices as resources of a container",
)
NOT_DONE: Mapping[str, Unsupported] = {ELASTIC.code: ELASTIC}
"""All unsupported features, by code."""
REFUSED_BEFORE: Mapping[str, Unsupported] = {CLAIMS.code: CLAIMS}
"""Features that older facts say are not supported: whoever they are about waits until a watcher of today tells of it again."""


def table() -> str:
    """The table of unsupported features in docs/limits.md."""
    rows = [f"| `{one.code}` | {one.what} | {one.consequence} | {one.instead} |" for one in NOT_DONE.values()]
    return "\n".join(["| reason | asked for | without it | instead |", "|---|---|---|---|", *rows])
