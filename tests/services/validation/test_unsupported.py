"""What is asked for and is not done yet is found wherever it stands, and said in one place."""

import json
from pathlib import Path
from typing import Any

import pytest

from events.json_object import JsonObject
from ops.lint.check import lint
from projections.unsupported import NOT_DONE, table
from services.validation.unsupported import asked_in
from services.watcher.view import View
from tests.places import ROOT
from tests.services.queue_manager.waiting_room import SPEC, Room, submitted

K = "kueue.x-k8s.io/"


def job(
    *,
    annotations: JsonObject | None = None,
    labels: JsonObject | None = None,
    of_pods: JsonObject | None = None,
    **spec: Any,
) -> JsonObject:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"annotations": of_pods or {}}, "spec": {"containers": [container], **spec}}
    meta = {"name": "j", "namespace": "team", "uid": "u", "labels": {f"{K}queue-name": "lq", **(labels or {})}}
    meta["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**meta, "annotations": annotations or {}},
        "spec": {"suspend": True, "template": template},
    }


def job_set(**fields: Any) -> JsonObject:
    alone = job(**fields)
    replicated = [{"name": "main", "replicas": 1, "template": {"spec": {"template": alone["spec"]["template"]}}}]
    spec = {"suspend": True, "replicatedJobs": replicated}
    return {**alone, "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": spec}


def shares(name: str) -> JsonObject:
    return {"containers": [{"name": "c", "image": "i", "resources": {"limits": {name: "1"}}}]}


ASKED = [
    (job_set(annotations={f"{K}elastic-job": "true"}), "ElasticJobNotSupported"),
]


@pytest.mark.parametrize(("value", "code"), ASKED, ids=[f"{code}-{index}" for index, (_, code) in enumerate(ASKED)])
def test_a_job_that_asks_for_it_is_submitted_with_it_and_waits_with_that_reason(value: JsonObject, code: str) -> None:
    (fact,) = View().see(str(value["kind"]), value)
    room = Room(fact)
    spec = room.world.workloads[fact.workload].spec  # pyright: ignore[reportAttributeAccessIssue]
    assert spec.not_done == (code,)
    waiting = Room(submitted(spec))
    waiting.steps()
    assert waiting.told("QuotaReserved") == ("False", code, NOT_DONE[code].message)
    assert not waiting.world.lines.of("cq").waiting


@pytest.mark.parametrize(("value", "code"), ASKED, ids=[f"{code}-{index}" for index, (_, code) in enumerate(ASKED)])
def test_lint_finds_it_at_its_field(value: JsonObject, code: str, tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(json.dumps(value))
    assert code in {one.code for one in lint([tmp_path])}


def test_who_asks_for_none_of_it_is_let_through() -> None:
    assert asked_in(job(of_pods={f"{K}podset-unconstrained-topology": "false"})) == ()
    assert asked_in(job(**shares("metax-tech.com/gpu"))) == (), "whole cards are counted by quota alone"
    waiting = Room(submitted(SPEC))
    waiting.steps()
    assert waiting.workload.line == "cq" and waiting.world.lines.of("cq").waiting


def test_the_page_says_what_the_code_says() -> None:
    assert table() in (ROOT / "docs" / "limits.md").read_text()
