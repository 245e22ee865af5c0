"""Which facts random lives tell: each kind of them, or it is said why not."""

import inspect
import re
import sys
from typing import get_args

from events.catalogue import Fact
from tests.laws import random_life, random_platform
from tests.laws.random_life import BESIDE

UNTOLD = {
    "PartitionMapObserved": "lives have one partition of trees; trees are moved in `kuelog simulate --partitions`",
    "PartitionForked": "as above",
    "ResourceVersionsRestarted": "facts of lives have no versions; stores are restored in `kuelog simulate`",
}
"""By kind of fact, why no life tells it."""


def test_each_kind_of_fact_is_told_in_some_life_or_it_is_said_why_not() -> None:
    modules = (random_life, random_platform, *(sys.modules[one.__module__] for one in BESIDE))
    told = {name for each in modules for name in re.findall(r"\b([A-Z]\w+)\(", inspect.getsource(each))}
    kinds = {one.__name__ for one in get_args(Fact)}
    assert kinds - told == set(UNTOLD)
