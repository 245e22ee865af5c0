"""In which namespaces jobs are managed, where the configuration chooses among them."""

import asyncio

from events.json_object import JsonObject, object_at
from events.selector import LabelSelector
from services.jobs.managed_namespaces import asks_for_labels, is_managed
from services.runtime.cluster_port import NAMESPACES, Changed, Listed, ObjectMissing, Reader, Vanished, Writer


class ManagedNamespaces:
    """The labels of namespaces, kept up to date by one watch; one that is new is asked for."""

    def __init__(self, reader: Reader, writer: Writer, selector: LabelSelector | None) -> None:
        self._reader, self._writer, self._selector = reader, writer, selector
        self._labels: dict[str, dict[str, str]] = {}

    async def run(self) -> None:
        """Watch until cancelled; nothing, where names say which namespaces are managed."""
        if not asks_for_labels(self._selector):
            await asyncio.Event().wait()
        async for sight in self._reader.watch(NAMESPACES):
            match sight:
                case Listed():
                    self._labels = {one["metadata"]["name"]: _labels(one) for one in sight.objects}
                case Changed():
                    self._labels[sight.object["metadata"]["name"]] = _labels(sight.object)
                case Vanished():
                    self._labels.pop(sight.object["metadata"]["name"], None)

    async def managed(self, name: str) -> bool:
        """Whether jobs of a namespace are managed. May raise `ClusterUnavailable`."""
        if not name:
            return True
        if not asks_for_labels(self._selector):
            return is_managed(self._selector, name, {})
        labels = self._labels.get(name)
        if labels is None:
            try:
                labels = _labels(await self._writer.get(NAMESPACES, "", name))
            except ObjectMissing:
                return False  # Nothing can be created there.
        return is_managed(self._selector, name, labels)


def _labels(value: JsonObject) -> dict[str, str]:
    return dict(object_at(value, "metadata", "labels"))
