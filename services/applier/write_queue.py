"""Applications in the order in which they are to be written; what the cluster does not take stands aside, and so does what is like it."""

from collections.abc import Container
from typing import TypeAlias

from events.event import Millis
from services.applier.plan import Application

Group: TypeAlias = tuple[str, ...]
"""A namespace and a kind of job: what is wrong with one is mostly wrong with all (a webhook that is away, a quota). Or one workload."""


class WriteQueue:
    """Applications by workload. A group of which one was not taken is tried again at its time, one at a time, until one is taken.

    So however many can't be written, they take no turn from the others.
    """

    def __init__(self, pause: Millis) -> None:
        """`pause`: how long a group stands aside before the next of it is tried."""
        self._pause = pause
        self._ready: dict[str, Application] = {}
        self._aside: dict[Group, dict[str, Application]] = {}
        self._group_of: dict[str, Group] = {}
        """Of those that stand aside."""
        self._due: dict[Group, Millis] = {}
        """When each group is tried, the first one first; those of which one is being tried are not in it."""

    def __len__(self) -> int:
        return len(self._ready) + len(self._group_of)

    def __contains__(self, workload: str) -> bool:
        return workload in self._ready or workload in self._group_of

    def due(self, at: Millis) -> Millis | None:
        """When a group is to be tried again that stands aside; None where none is."""
        found = next(iter(self._due.values()), None)
        return None if found is None else min(found, at + self._pause)

    def get(self, workload: str) -> Application | None:
        """What is to be written of a workload."""
        group = self._group_of.get(workload)
        return self._ready.get(workload) if group is None else self._aside[group][workload]

    def put(self, application: Application) -> None:
        """Queue it, in the place of what was to be written of its workload."""
        group = self._group_of.get(application.workload)
        if group is None:
            self._ready[application.workload] = application
        else:
            self._aside[group][application.workload] = application

    def remove(self, workload: str) -> None:
        """Nothing is to be written of a workload any more."""
        self._ready.pop(workload, None)
        if (group := self._group_of.pop(workload, None)) is not None:
            del self._aside[group][workload]
            if not self._aside[group] and group in self._due:
                self._end(group)

    def take(self, busy: Container[str]) -> Application | None:
        """The next one, but none of a group that stands aside."""
        while (workload := next((one for one in self._ready if one not in busy), None)) is not None:
            application = self._ready.pop(workload)
            group = self._standing(application)
            if group is None:
                return application
            self._join(group, application)
        return None

    def take_again(self, busy: Container[str], at: Millis) -> Application | None:
        """The next one of a group that stood aside until now; `ended` has to be called afterwards."""
        for group, due in self._due.items():
            if at < due <= at + self._pause:
                break  # Later than that it is only where the clock was set back.
            workload = next((one for one in self._aside[group] if one not in busy), None)
            if workload is not None:
                del self._due[group], self._group_of[workload]
                return self._aside[group].pop(workload)
        return None

    def refused(self, application: Application, at: Millis, *, alone: bool, newer: bool) -> None:
        """It was not taken. `alone`: for a reason of its own; `newer`: there is something else to be written instead of it."""
        group = self._standing(application) or ((application.workload,) if alone else _kind_of(application))
        self._aside.setdefault(group, {})
        self._due.pop(group, None)
        self._due[group] = at + self._pause
        if not newer:
            self._join(group, application)
        elif (waiting := self._ready.pop(application.workload, None)) is not None:
            self._join(group, waiting)

    def taken(self, application: Application) -> None:
        """It was taken, or refused for good: what stood aside with it is written as all others are."""
        group = self._standing(application)
        if group is not None:
            self._end(group)

    def ended(self, application: Application, at: Millis) -> None:
        """It is tried no more, whatever came of it: a group of which nothing is left stands aside no longer."""
        group = self._standing(application)
        if group is None:
            return
        if not self._aside[group]:
            self._end(group)
        else:
            self._due.setdefault(group, at)

    def _standing(self, application: Application) -> Group | None:
        """The group that it has to stand aside with; None where it needs not."""
        if not self._aside:
            return None
        alone = (application.workload,)
        group = alone if alone in self._aside else _kind_of(application)
        return group if group in self._aside else None

    def _join(self, group: Group, application: Application) -> None:
        self._aside[group][application.workload] = application
        self._group_of[application.workload] = group

    def _end(self, group: Group) -> None:
        for workload, application in self._aside.pop(group).items():
            del self._group_of[workload]
            self._ready.setdefault(workload, application)
        self._due.pop(group, None)


def _kind_of(application: Application) -> Group:
    owner = application.of.owner
    return (application.namespace, "" if owner is None else owner.kind)
