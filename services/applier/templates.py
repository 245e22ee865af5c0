"""The pod templates of a workload, read where they are described: in its job, in its pods or in its own object."""

from services.applier.provisioning import Ask, Plain
from services.cluster_port import Writer
from services.jobs.kinds import resource_of
from services.jobs.paths import get
from services.jobs.pod_sets import pods_of
from services.jobs.steering import restored
from services.jobs.table import JOB_SET, POD
from services.jobs.train_job import CHILD


class Templates:
    """Reads pod templates in the cluster."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def of(self, asked: Ask, workload: Plain) -> dict[str, Plain]:
        """By pod set, as they were asked for. Raises `FieldBroken`, and `ObjectMissing` when something is gone."""
        if asked.members:
            return await self._of_members(asked)
        if asked.kind is None:
            pod_sets = get(workload, ("spec", "podSets")) or []
            return {str(one.get("name", "main")): one.get("template") or {} for one in pod_sets}
        job = await self._writer.get(resource_of(asked.kind, asked.api_version), asked.namespace, asked.job)
        if asked.kind.reader == "train job":
            # What it makes bears its name, and says what it is made of.
            job = {**job, CHILD: await self._writer.get(resource_of(JOB_SET), asked.namespace, asked.job)}
        else:
            job = restored(asked.kind, job, asked.originals)
        return {one.name: one.template for one in pods_of(asked.kind, job)}

    async def _of_members(self, asked: Ask) -> dict[str, Plain]:
        found: dict[str, Plain] = {}
        for member in asked.members:
            if member.pod_set not in found:
                pod = await self._writer.get(resource_of(POD), asked.namespace, member.name)
                meta = {name: pod["metadata"].get(name) for name in ("labels", "annotations")}
                found[member.pod_set] = {"metadata": meta, "spec": pod.get("spec") or {}}
        return found
