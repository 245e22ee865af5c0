"""Which facts random lives tell, and what is decided in them: each kind, or it is said why not."""

import inspect
import re
import sys
from typing import get_args

from events.catalogue import AdmissionDecision, DeviceDecision, Fact
from events.codec import decode_commit
from events.subjects import CONTROL, FACTS
from tests.laws import random_life, random_platform
from tests.laws.random_life import BESIDE, Life

UNTOLD = {
    "PartitionForked": "lives have no CONTROL, on which forks are told first; trees move in `kuelog simulate --partitions`",
    "ResourceVersionsRestarted": "facts of lives have no versions; stores are restored in `kuelog simulate`",
}
"""By kind of fact, why no life tells it."""
LIVES = (28, 33, 38, 701, 703, 704, 738, 741, 756, 770, 779, 823, 4017)
STEPS = 40
"""Lives in which together all is decided that is in any: others have to be looked for when lives have become others."""
UNMADE = {
    "SetAside": "nobody fails in a life: it breaks a law (tests/laws/life_laws.py)",
    "WorkloadEndedElsewhere": "lives may come to it, and none of these is long enough; see tests/services/multikueue/test_ended_there.py",
}
"""By kind of decision, why it is made in no life."""


def test_each_kind_of_fact_is_told_in_some_life_or_it_is_said_why_not() -> None:
    modules = (random_life, random_platform, *(sys.modules[one.__module__] for one in BESIDE))
    told = {name for each in modules for name in re.findall(r"\b([A-Z]\w+)\(", inspect.getsource(each))}
    kinds = {one.__name__ for one in get_args(Fact)}
    assert kinds - told == set(UNTOLD)


def test_each_kind_of_decision_is_made_in_one_of_these_lives_or_it_is_said_why_not() -> None:
    made: set[str] = set()
    for seed in LIVES:
        log = Life(seed, fresh=0).live(STEPS).hosts.log
        commits = [decode_commit(one.data) for name in log if name not in (CONTROL, FACTS) for one in log[name]]
        made.update(type(event).__name__ for commit in commits for event in commit.events)
    kinds = {one.__name__ for one in (*get_args(AdmissionDecision), *get_args(DeviceDecision))}
    assert kinds - made == set(UNMADE)
