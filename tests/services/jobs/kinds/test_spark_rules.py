"""What a SparkApplication may not say."""

from typing import Any

import pytest

from services.jobs.kinds.spark_rules import spark_problems
from services.jobs.kinds.table import JOB, SPARK

DYNAMIC = "spark.dynamicAllocation.enabled"


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({}, []),
        ({"mode": "cluster", "dynamicAllocation": {"enabled": False}}, []),
        ({"mode": "client"}, ["spec.mode"]),
        ({"dynamicAllocation": {"enabled": True}}, ["spec.dynamicAllocation.enabled"]),
        ({"sparkConf": {DYNAMIC: "true"}}, [f"spec.sparkConf[{DYNAMIC}]"]),
        ({"sparkConf": {DYNAMIC: "false"}}, []),
    ],
    ids=str,
)
def test_executors_that_nobody_counts_are_refused_and_drivers_outside_of_the_cluster(
    spec: dict[str, Any], fields: list[str]
) -> None:
    assert [one.field for one in spark_problems(SPARK, {"spec": spec})] == fields
    assert spark_problems(JOB, {"spec": spec}) == []
