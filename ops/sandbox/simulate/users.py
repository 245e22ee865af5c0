"""What the users of a simulated platform do: jobs that they create, delete, move and rank otherwise; all of it data."""

import random
from collections.abc import Callable

import msgspec

from events.api.labels import EXIT, MAX_EXEC_TIME_SECONDS, PRIORITY_CLASS, QUEUE_NAME, RUN_SECONDS, TERMINATION_SECONDS
from events.event import Millis
from events.json_object import JsonObject

NAMESPACE = "default"
GPU, MEMORY, CORES = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"
CLASSES = {"low": 0, "middle": 10, "high": 100}
_STORM_MS = 1500
"""Jobs of a storm come within this time."""
JobMaker = Callable[[str, str, int, tuple[str, ...]], JsonObject]
"""Makes a job of a name, in a queue, with so many pods, of one of these priority classes."""


class UserAction(msgspec.Struct, frozen=True, kw_only=True):
    """What a user does at a time: create or delete a job, change its queue, its priority or its size; publish or withdraw an
    object; give a namespace, named as the job, a budget."""

    at: Millis
    verb: str
    job: str
    value: str = ""
    object: JsonObject = {}


def actions_of(
    chance: random.Random, queues: list[str], span: Millis, most: dict[str, int], *, make: JobMaker
) -> list[UserAction]:
    """All that users do in a span, in the order of its time; `most` says how many pods a job of a queue may have."""
    users = _Users(chance, queues, span, most, make)
    for _ in range(chance.randrange(4, 10)):
        users.come(chance.randrange(span * 2 // 3), ("low", "low", "middle", "high"))
    if chance.random() < 0.4:  # noqa: PLR2004
        users.storm(chance.randrange(span // 2))
    return sorted(users.actions, key=lambda one: one.at)


class _Users:
    def __init__(
        self, chance: random.Random, queues: list[str], span: Millis, most: dict[str, int], make: JobMaker
    ) -> None:
        self.actions: list[UserAction] = []
        self._chance, self._queues, self._span, self._most = chance, queues, span, most
        self._make = make
        self._count = 0

    def storm(self, at: Millis) -> None:
        """The least important fill what there is, and soon the more important come all at once."""
        for classes in (("low",), ("middle", "high"), ("high",)):
            for _ in range(self._chance.randrange(1, 4)):
                self.come(at + self._chance.randrange(_STORM_MS), classes)
            at += self._chance.randrange(500, 10_000)

    def come(self, at: Millis, classes: tuple[str, ...]) -> None:
        """A job comes, and perhaps its user thinks better of it."""
        chance, name, queue = self._chance, f"j{self._count}", self._chance.choice(self._queues)
        self._count += 1
        job = self._make(name, queue, chance.randint(1, self._most[queue]), classes)
        self._do(at, "create", name, object=job)
        later = at + chance.randrange(1, self._span // 3)
        roll = chance.random()
        if roll < 0.15:  # noqa: PLR2004
            self._leave(later, name, job)
        elif roll < 0.22:  # noqa: PLR2004
            self._do(later, "priority", name, value=chance.choice(list(CLASSES)))
        elif roll < 0.3:  # noqa: PLR2004
            roomy = [one for one in self._queues if self._most[one] >= job["spec"]["parallelism"]]
            self._do(later, "queue", name, value=chance.choice(roomy))

    def _leave(self, at: Millis, name: str, job: JsonObject) -> None:
        """A job is deleted, and perhaps made anew under its name, again and again."""
        self._do(at, "delete", name)
        while self._chance.random() < 0.5:  # noqa: PLR2004
            at += self._chance.randrange(2000)
            self._do(at, "create", name, object=job)
            if self._chance.random() < 0.5:  # noqa: PLR2004
                return
            at += self._chance.randrange(3000)
            self._do(at, "delete", name)

    def _do(self, at: Millis, verb: str, name: str, *, value: str = "", object: JsonObject | None = None) -> None:  # noqa: A002
        self.actions.append(UserAction(at=at, verb=verb, job=name, value=value, object=object or {}))


def job_of(
    chance: random.Random, name: str, queue: str, pods: int, classes: tuple[str, ...], *, with_cards: bool
) -> JsonObject:
    """A job of this name, in this queue, with so many pods, of one of these priority classes; all else by chance."""
    asked = (
        {GPU: "1", MEMORY: str(chance.choice((4000, 8000, 16000))), CORES: str(chance.choice((10, 25, 50)))}
        if with_cards
        else {"cpu": chance.choice(("500m", "1"))}
    )
    part = "limits" if with_cards else "requests"
    annotations = {RUN_SECONDS: str(chance.choice((2, 5, 10, 20, 40, 80)))}
    if chance.random() < 0.3:  # noqa: PLR2004
        annotations[TERMINATION_SECONDS] = str(chance.randrange(1, 20))
    if chance.random() < 0.1:  # noqa: PLR2004
        annotations[EXIT] = "1"
    labels = {QUEUE_NAME: queue, PRIORITY_CLASS: chance.choice(classes)}
    if chance.random() < 0.1:  # noqa: PLR2004
        labels[MAX_EXEC_TIME_SECONDS] = str(chance.choice((3, 30, 3600)))
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "x", "resources": {part: asked}}],
                },
            },
        },
    }
