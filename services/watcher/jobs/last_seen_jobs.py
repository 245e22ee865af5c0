"""Jobs as they were last seen, each held as its JSON: most are never asked for, and read one takes several times as much."""

import msgspec

from events.json_object import JsonObject


class LastSeenJobs:
    """By place, the jobs of a watch."""

    def __init__(self) -> None:
        self._seen: dict[str, bytes] = {}

    def of(self, place: str) -> JsonObject | None:
        """The job as it was last seen, by `kind/namespace/name`; None where it was not."""
        seen = self._seen.get(place)
        return None if seen is None else msgspec.json.decode(seen)

    def note(self, place: str, job: JsonObject) -> None:
        """A job was seen; one that is nested too deep to be written down is as if it was not: it is refused."""
        try:
            self._seen[place] = msgspec.json.encode(job)
        except RecursionError:
            self.forget(place)

    def forget(self, place: str) -> None:
        """Let go of a job that is not there any more."""
        self._seen.pop(place, None)

    def places(self) -> list[str]:
        """Where jobs were seen, in order."""
        return sorted(self._seen)
