"""When the schedule of a CronJob comes round, in UTC."""

from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from events.event import Millis

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLI = timedelta(milliseconds=1)
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS = 5


class BadSchedule(Exception):
    """A text that is no schedule."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"{text!r} is no schedule of cron: {problem}; write e.g. */5 * * * *")


class Schedule:
    """A schedule of five fields, or one of the names such as @hourly, as Kubernetes takes them."""

    def __init__(self, text: str) -> None:
        """Raise `BadSchedule`."""
        # Kubernetes reads ? as *; a sixth field would be seconds, which Kubernetes does not have.
        self._fields = _NAMED.get(text.strip(), text).replace("?", "*")
        if (count := len(self._fields.split())) != _FIELDS:
            raise BadSchedule(text, f"it has {count} fields, not {_FIELDS}")
        try:
            CronSim(self._fields, _EPOCH)
        except CronSimError as problem:
            raise BadSchedule(text, str(problem)) from None

    def after(self, at: Millis) -> Millis | None:
        """The first time after that; None where it never comes."""
        found = next(CronSim(self._fields, _EPOCH + at * _MILLI), None)
        return None if found is None else (found - _EPOCH) // _MILLI
