"""The command line as a person meets it: real processes, real files, one clear message for each mistake."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from events.timestamp import parse_timestamp
from tests.places import ROOT, SCENARIOS
from tests.stage.forked_commands import forked


def kuelog(*words: str, timeout: int = 120) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "COLUMNS": "200", "HOME": str(ROOT)}
    return forked(words, env=env, timeout=timeout)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("demo") / "run"
    done = kuelog("demo", "examples/ai-platform", "--data", str(data))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "failed" not in done.stdout
    assert "giant-model is refused with ExceedsCardCapacity" in done.stdout
    return data


def test_the_platform_scenario_plays_to_its_end_and_every_expectation_holds(demo: Path) -> None:
    assert (demo / "nats").is_dir()
    assert (demo / "kubeconfig").exists()


def test_what_the_demo_has_left_replays_byte_for_byte(demo: Path) -> None:
    done = kuelog("replay", "--data", str(demo), "--verify", "-o", "json")
    assert done.returncode == 0, done.stdout
    partitions = json.loads(done.stdout)
    assert [partition["differences"] for partition in partitions] == [[], []]
    assert all(partition["commits"] > 0 for partition in partitions)


def test_the_history_of_a_job_is_told_moment_by_moment(demo: Path) -> None:
    done = kuelog("history", "ai-research/sweep-b", "--data", str(demo), "-o", "json")
    assert done.returncode == 0
    told = [moment["what"] for moment in json.loads(done.stdout)]
    assert told.index("preempted") < told.index("pods gone") < told.index("quota released")
    assert told.count("admitted") == 2


def test_a_job_that_the_log_does_not_know_is_answered_with_those_it_knows(demo: Path) -> None:
    done = kuelog("history", "ai-research/nobody", "--data", str(demo))
    assert done.returncode == 2
    assert "the log knows no job ai-research/nobody" in done.stderr


def test_every_line_of_a_history_has_its_cause(demo: Path) -> None:
    done = kuelog("history", "job/ai-research/sweep-b", "--data", str(demo), "-o", "json")
    lines = json.loads(done.stdout)
    preempted = next(line for line in lines if line["what"] == "preempted")
    assert preempted["cause"].endswith("PreemptionRequested")
    assert all(line["cause"] for line in lines if line["partition"] != "FACTS")
    done = kuelog("history", "clusterqueue/research", "--data", str(demo))
    assert "quota reserved" in done.stdout


def test_the_log_is_shown_by_type_and_object(demo: Path) -> None:
    words = ("log", "show", "--data", str(demo), "--type", "Preemption*", "-o", "json")
    shown = [json.loads(line) for line in kuelog(*words).stdout.splitlines()]
    assert {one["event"]["type"] for one in shown} == {"PreemptionRequested.v1", "PreemptionOrdered.v1"}
    done = kuelog("log", "show", "--data", str(demo), "--object", "clusterqueue/nobody")
    assert (done.returncode, "nothing on the log passes" in done.stdout) == (1, True)


def test_the_log_is_handed_out_as_cloud_events(demo: Path) -> None:
    words = ("log", "show", "--data", str(demo))
    plain = [json.loads(line) for line in kuelog(*words, "-o", "json").stdout.splitlines()]
    events = [json.loads(line) for line in kuelog(*words, "-o", "cloudevents").stdout.splitlines()]
    assert [one["data"] for one in events] == [one["event"] for one in plain]
    assert len({(one["source"], one["id"]) for one in events}) == len(events), "source and id name an event"
    for event, shown in zip(events, plain, strict=True):
        assert event["specversion"] == "1.0"
        assert event["type"] == f"io.kuelog.{shown['event']['type']}"
        assert event["datacontenttype"] == "application/json"
        assert parse_timestamp(event["time"]) == shown["at"], "to the millisecond"
        assert all(re.fullmatch("[a-z0-9]{1,20}", name) for name in event), "names as the specification has them"
        assert all(isinstance(value, str) for name, value in event.items() if name != "data")
    submitted = next(one for one in events if one["type"] == "io.kuelog.WorkloadSubmitted.v1")
    assert submitted["subject"].startswith("workload/ai-")


def test_what_the_readme_asks_of_the_demo_is_answered_as_it_says(demo: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    asked = re.findall(r"^    kuelog ((?:top|history|explain|devices|drift|bill) ?.*?)\s+#", text, re.MULTILINE)
    asked = [one for one in asked if "-f " not in one]
    assert len(asked) == len({one.split()[0] for one in asked})
    answers = {one.split()[0]: kuelog(*one.split(), "--data", str(demo)) for one in asked}
    assert {name: done.stderr for name, done in answers.items() if done.returncode == 2} == {}
    words = ("history", "ai-research/sweep-b", "--data", str(demo), "-o", "json")
    moments = json.loads(kuelog(*words).stdout)
    (stopped,) = (line["at"] for line in moments if line["what"] == "preempted")
    machine_is_late = stopped > moments[0]["at"] + 25_000
    assert machine_is_late or "what would let it in" in answers["explain"].stdout
    life = text.split("ai-research/sweep-b\n", 1)[1].split("...\n")[0]
    shown = [line.split(" s  ")[1].split("  ")[0] for line in life.splitlines()]
    told = [line["what"] for line in moments]
    steps = {"submitted", "queued", "quota reserved", "admitted", "running", "preempted", "quota released", "finished"}
    assert [one for one in shown if one in steps] == [one for one in told if one in steps]


def test_the_first_answer_needs_no_time_for_what_would_help(demo: Path) -> None:
    words = ("explain", "job/ai-research/sweep-c", "--at", "+60s", "--data", str(demo), "--limit", "0")
    told = kuelog(*words).stdout
    assert "because of" in told and told.index("because of") < told.index("the time for trying is over")
    assert json.loads(kuelog(*words, "-o", "json").stdout)["raises"] == []


def test_a_preempted_job_is_explained_without_names_that_a_tenant_may_not_read(demo: Path) -> None:
    words = ("explain", "job/ai-research/sweep-b", "--data", str(demo))
    (stop,) = json.loads(kuelog(*words, "-o", "json").stdout)["stops"]
    assert stop["by"].startswith("ai-production/") and stop["standings"]
    done = kuelog(*words, "--as-namespace", "ai-research")
    assert done.returncode == 0
    assert "ai-production" not in done.stdout
    done = kuelog(
        "explain", "job/ai-production/serving-scale-out", "--data", str(demo), "--as-namespace", "ai-research"
    )
    assert done.returncode == 2
    assert "ai-production/model" not in done.stdout + done.stderr


def test_a_change_is_played_and_told(demo: Path) -> None:
    change = "clusterqueue/production:spec.preemption.reclaimWithinCohort=Never"
    done = kuelog("whatif", "--data", str(demo), "--set", change, "-o", "json")
    found = json.loads(done.stdout)
    assert (found["preemptions_before"], found["preemptions_after"]) == (1, 0)
    assert any("serving-scale-out" in one["workload"] for one in found["losers"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("replay", "--until", "99999"), "LOG_0 has no sequence 99999"),
        (("replay", "--until", "2001-01-01T00:00:00Z"), "is before the log"),
        (("replay", "--tree", "nowhere"), "there is no tree nowhere"),
        (("replay", "--show", "everything"), "write one of queues"),
        (("replay", "--snapshot", "README.md"), "snapshot README.md can't be used"),
        (("replay", "--rules", "nothing=1"), "there is no setting nothing"),
        (("replay", "--rules", "docs"), "neither a checkout nor a wheel"),
        (("explain", "job/nobody/x"), "the log knows no job nobody/x"),
        (("explain", "node/x"), "is not explained"),
        (("explain", "x/y", "--at", "yesterday"), "is no time"),
        (("history", "clusterqueue/x"), "the log knows no clusterqueue x; it knows production, research"),
        (("log", "show", "--stream", "NEWS"), "there is no stream NEWS"),
        (("audit", "query", " -- nothing"), "nothing is asked: write a SELECT"),
        (("whatif",), "nothing is changed"),
        (("whatif", "--set", "clusterqueue/x:spec.y=1"), "there is no clusterqueue x"),
        (("whatif", "--remove", "card/x"), "there is no card x on the log"),
        (("whatif", "--remove", "pod/x"), "can't be removed"),
        (("whatif", "--submit", "-f", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_what_can_t_be_answered_is_one_clear_message(demo: Path, words: tuple[str, ...], told: str) -> None:
    done = kuelog(*words, "--data", str(demo))
    assert done.returncode == 2, done.stdout
    assert told in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stdout + done.stderr


def test_a_folder_without_a_log_is_one_clear_message(tmp_path: Path) -> None:
    done = kuelog("replay", "--data", str(tmp_path))
    assert done.returncode == 2
    assert "holds no log" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_scenario_that_is_not_there_is_one_clear_message(tmp_path: Path) -> None:
    done = kuelog("demo", str(tmp_path / "nowhere"), "--data", str(tmp_path / "data"))
    assert done.returncode == 2
    assert "there is no such folder" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_service_that_does_not_exist_is_answered_with_those_that_do() -> None:
    done = kuelog("run", "scheduler")
    assert done.returncode == 2
    assert "there is no service scheduler" in done.stderr and "queue-manager" in done.stderr


def test_a_bus_that_is_not_there_is_one_clear_message_to_who_asks_it() -> None:
    done = kuelog("replay", "--nats", "nats://127.0.0.1:9")
    assert done.returncode == 2
    assert "can't be reached" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_our_own_manifests_have_no_mistake_but_the_job_that_is_meant_to_be_too_large_for_any_card() -> None:
    done = kuelog("lint", "examples/ai-platform", "-o", "json")
    found = [(one["object"], one["code"]) for one in json.loads(done.stdout)]
    assert (done.returncode, found) == (1, [("Job ai-research/giant-model", "ExceedsCardCapacity")])


needs_scenarios = pytest.mark.skipif(
    not SCENARIOS.is_dir(), reason=f"the seed's manifests are not at {SCENARIOS}: set KUELOG_SCENARIOS"
)


@needs_scenarios
def test_the_mistakes_of_the_seed_are_named_with_file_and_line() -> None:
    done = kuelog("lint", str(SCENARIOS / "ai-platform"), "-o", "json")
    assert done.returncode == 1
    findings = json.loads(done.stdout)
    found = {(Path(one["file"]).name, one["line"], one["code"]) for one in findings}
    assert found >= {
        ("03-queues.yaml", 42, "PerCardValues"),
        ("03-queues.yaml", 48, "GpuCountsShares"),
        ("03-queues.yaml", 49, "LimitWithoutCohort"),
        ("03-queues.yaml", 51, "MegabytesForMebibytes"),
        ("03-queues.yaml", 53, "CoresBelowCards"),
        ("03-queues.yaml", 56, "FlavorOmitsResource"),
        ("03-queues.yaml", 67, "ReclaimWithoutCohort"),
        ("03-queues.yaml", 87, "NamespaceExcluded"),
        ("04-jobs.yaml", 10, "ParallelismAboveCompletions"),
        ("04-jobs.yaml", 55, "AnnotationForLabel"),
    }
    assert all(one["what"] and one["consequence"] and one["instead"] for one in findings)


@needs_scenarios
def test_loosely_taken_the_seed_has_only_warnings_and_its_scenario_runs(tmp_path: Path) -> None:
    done = kuelog("lint", "--loose", str(SCENARIOS / "ai-platform"))
    assert done.returncode == 0, done.stdout
    done = kuelog("demo", str(SCENARIOS / "ai-platform"), "--data", str(tmp_path / "seed"))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "every job has finished" in done.stdout


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("kind: ClusterQueue\n  bad: x", "Broken", "broken YAML"),
        ("just: text", "Broken", "it has no kind"),
        (
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec: {resourceGroup: []}\n",
            "UnknownField",
            "resourceGroups",
        ),
        (
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: q, namespace: a}\n"
            "spec: {clusterQueue: nowhere}\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: here}\n",
            "ClusterQueueNotFound",
            "here",
        ),
        (
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: a}\nspec: {template: {spec: {containers: "
            '[{name: c, resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: "16Gi"}}}]}}}\n',
            "NotMebibytes",
            "16384",
        ),
        (
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: a}\nspec: {template: {spec: {containers: "
            '[{name: c, resources: {limits: {cpu: "-1"}}}]}}}\n',
            "Invalid",
            "at least 0",
        ),
    ],
)
def test_bad_input_is_named_with_what_to_write_instead(text: str, code: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    done = kuelog("lint", str(path), "-o", "json")
    assert done.returncode == 1
    found = [one for one in json.loads(done.stdout) if one["code"] == code]
    assert found and told in found[0]["what"] + found[0]["instead"]
    assert "Traceback" not in done.stderr


def test_every_command_explains_itself_with_an_example() -> None:
    for command in ("demo", "replay", "history", "lint", "up", "run", "bench"):
        done = kuelog(command, "--help")
        assert done.returncode == 0
        assert "Example: kuelog" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("convert", "/nowhere.yaml"), "error: /nowhere.yaml: No such file or directory\n"),
        (("audit", "verify", "--data", "/nowhere"), "error: /nowhere: holds no log: run `kuelog demo` first"),
        (
            ("adopt", "--kubeconfig", "/nowhere", "--dry-run"),
            "error: no Kubernetes cluster: there is no file /nowhere. Name",
        ),
        (
            ("adopt", "--dry-run"),
            "error: no Kubernetes cluster: this is no pod of one, and no kubeconfig was named. Name",
        ),
        (
            ("explain", "team/job", "--nats", "http://bus:1"),
            "error: http://bus:1 can't be reached: http:// leads to no bus",
        ),
    ],
)
def test_what_is_not_there_is_one_message_that_says_so(words: tuple[str, ...], says: str) -> None:
    done = kuelog(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"{", b"[]", b"contexts: 3\ncurrent-context: x\n"])
def test_a_kubeconfig_that_is_none_is_one_message(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "config").write_bytes(data)
    done = kuelog("list", "workload", "--kubeconfig", str(tmp_path / "config"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: no Kubernetes cluster: ") and "Traceback" not in done.stderr


def test_the_kubeconfig_of_the_environment_is_taken_where_none_is_named() -> None:
    command = [sys.executable, "-m", "ops.cli.main", "adopt", "--dry-run"]
    around = {**os.environ, "KUBECONFIG": "/nowhere"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=around)
    assert done.returncode == 2
    assert done.stderr.startswith("error: no Kubernetes cluster: there is no file /nowhere. Name one with --kubeconfig")


def test_a_manifest_that_is_not_there_is_told_as_that() -> None:
    for name, why in (("nowhere.yaml", "No such file or directory"), ("x" * 10_000, "File name too long")):
        done = kuelog("lint", name)
        assert done.returncode == 1
        assert f"{name}:1 error : {why} (Broken)\n    so: nothing of it is looked at\n" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("up", "--port", "-1"),
        ("up", "--port", "99999"),
        ("up", "--metrics", "-1"),
        ("up", "--console", "99999"),
        ("up", "--scale", "0"),
        ("run", "admitter", "--health", "-1"),
        ("run", "admitter", "--scale", "-1"),
        ("visibility", "--port", "-1"),
        ("console", "--port", "99999"),
        ("top", "--scale", "0"),
        ("sites", "serve", "east", "--port", "0"),
        ("sites", "serve", "east", "--nats", "99999"),
        ("sites", "copy", "east", "--replicas", "0"),
    ],
)
def test_a_port_that_is_none_and_time_that_would_stand_still_are_refused_before_anything_starts(
    words: tuple[str, ...],
) -> None:
    done = kuelog(*words)
    assert done.returncode == 2
    assert f"Invalid value for '{words[-2]}': Input should be" in done.stderr


def test_the_webhook_refuses_a_port_that_it_would_not_serve() -> None:
    done = kuelog("run", "webhook", "--health", "8080")
    assert done.returncode == 2
    assert "--health has no meaning for the webhook" in " ".join(done.stderr.replace("│", " ").split())


def test_an_answer_that_can_t_be_written_is_one_message_and_one_that_nobody_reads_is_none() -> None:
    command = [sys.executable, "-m", "ops.cli.main", "version"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (2, "error: standard output can't be written: No space left on device\n")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_port_of_somebody_else_is_told_before_anything_runs(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = kuelog("up", "--no-nodes", "--data", str(tmp_path), "--port", port)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: the Kubernetes API can't be served on port {port}: ")
    assert done.stderr.count("\n") == 1


def test_a_level_that_is_none_is_refused() -> None:
    done = kuelog("--log", "loud", "version")
    assert done.returncode == 2
    assert "--log loud: write one of debug, info, warning" in done.stderr
