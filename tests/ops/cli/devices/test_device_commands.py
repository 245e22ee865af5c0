"""Cards on the command line, against a run in which everything that can go wrong with cards does."""

import json
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.utils import floatToGoString

from ops.production.metrics.cards import CardMetrics
from ops.production.metrics.endpoint import exposition
from tests.ops.cli.test_command_line import kuelog
from tests.stories.small_world import Story, job, platform

POD = """apiVersion: v1
kind: Pod
metadata: {name: p, namespace: team-red}
spec:
  containers:
  - name: main
    resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: %s, nvidia.com/gpucores: 30}}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    data = tmp_path_factory.mktemp("drift") / "run"
    done = kuelog("demo", "examples/devices-drift", "--data", str(data))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return str(data)


def answer(*words: str) -> tuple[int, dict[str, Any]]:
    done = kuelog(*words, "-o", "json")
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)


def test_every_card_is_shown_as_it_was_at_any_time(run: str) -> None:
    code, told = answer("devices", "--data", run, "--at", "+20s")
    assert code == 0
    assert [(card["card"], card["memory_used"], card["slices"][0]["holder"]) for card in told["cards"]] == [
        (name, 17000, "team-red/halves") for name in ("GPU-gpu-1-0", "GPU-gpu-1-1", "GPU-gpu-2-0", "GPU-gpu-2-1")
    ]
    (model,) = told["models"]
    assert (model["free"]["memory"], model["largest_memory"], model["idle_together"]) == (63072, 15768, 0)
    assert told["unwanted"]["memory"] == 63072, "what waits asks for 16,000 MiB in one piece"
    assert told["sequences"]["DEVICES_default"] > 0
    _, later = answer("devices", "--data", run)
    assert all(card["slots_used"] == 0 for card in later["cards"])


def test_the_time_that_an_answer_names_asks_for_that_answer_again(run: str) -> None:
    """To the millisecond: within a second a card is held and free."""
    (_, told), (_, later) = (answer("devices", "--data", run, "--at", at) for at in ("+20.123s", "+20.124s"))
    assert told["at"] != later["at"]
    assert answer("devices", "--data", run, "--at", told["at"])[1] == told
    shown = kuelog("devices", "--data", run, "--at", told["at"]).stdout
    assert f"as of {told['at']}, " in shown


def test_the_picture_of_a_card_has_a_sign_for_each_holder(run: str) -> None:
    done = kuelog("devices", "--data", run, "--at", "+20s", "--node", "gpu-2")
    assert done.returncode == 0
    assert "GPU-gpu-2-0 [000000000000............]  17000/32768 MiB" in done.stdout
    assert "0 team-red/halves" in done.stdout
    assert "gpu-1" not in done.stdout


def test_a_card_on_probation_says_until_when(run: str) -> None:
    _, told = answer("devices", "--data", run, "--at", "+100s")
    (card,) = [card for card in told["cards"] if card["card"] == "GPU-gpu-2-1"]
    assert card["state"] == "recovering" and card["returns_at"] > 0


def test_what_does_not_fit_is_told_card_by_card_with_who_could_make_room(run: str, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD % 16000)
    words = ("devices", "fit", "-f", str(tmp_path / "pod.yaml"), "--data", run)
    code, told = answer(*words, "--at", "+20s")
    (found,) = told["objects"][0]["flavors"]
    assert (code, found["fits"], found["placed"]["reason"]) == (1, False, "WaitingForDevices")
    assert [card["reasons"] for node in found["nodes"] for card in node["cards"]] == [["CardInsufficientMemory"]] * 4
    assert [step["way"] for step in found["advice"]["steps"]] == ["preempt"]
    code, told = answer(*words)
    assert (code, told["objects"][0]["fits"]) == (0, True)
    text = kuelog(*words, "--at", "+20s").stdout
    assert "does not fit in v100" in text and "preempt team-red/halves" in text


def test_a_request_that_no_card_has_is_helped_by_nobody(run: str, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD % 60000)
    done = kuelog("devices", "fit", "-f", str(tmp_path / "pod.yaml"), "--data", run)
    assert done.returncode == 1
    assert "nobody could make room for it" in done.stdout


def test_a_pod_that_hamis_webhook_refuses_fits_nowhere_and_is_told_why(run: str, tmp_path: Path) -> None:
    text = (POD % 1000).replace("nvidia.com/gpumem", "nvidia.com/gpumem-percentage")
    (tmp_path / "pod.yaml").write_text(text)
    code, told = answer("devices", "fit", "-f", str(tmp_path / "pod.yaml"), "--data", run)
    (found,) = told["objects"][0]["flavors"]
    assert (code, found["fits"], found["placed"]["reason"]) == (1, False, "ExceedsCardCapacity")
    assert "HAMi's webhook refuses them: nvidia.com/gpumem-percentage is 1000" in found["placed"]["message"]


def test_drift_is_named_while_it_lasts_and_gone_at_the_end(run: str) -> None:
    code, told = answer("drift", "--data", run, "--at", "+60s")
    assert code == 1
    assert [(one["kind"], one["holder"]) for one in told["findings"]] == [("Unmanaged", "pod:elsewhere/thief")]
    assert told["findings"][0]["since"] is not None
    assert (told["books"]["log"], told["books"]["annotations"]) == (0, 20000)
    code, told = answer("drift", "--data", run)
    assert (code, told["findings"]) == (0, [])
    assert "agree about every card" in kuelog("drift", "--data", run).stdout


def test_a_run_with_drift_replays_byte_for_byte_at_every_moment(run: str) -> None:
    assert kuelog("replay", "--data", run, "--verify").returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("devices", "--at", "yesterday"), "'yesterday' is no time"),
        (("drift", "--at", "+5x"), "'+5x' is no time"),
        (("devices", "fit", "-f", "nowhere.yaml"), "nowhere.yaml"),
        (("devices", "fit", "-f", "/dev/null"), "there is no object in it"),
        (("devices", "fit", "-f", "examples/devices-drift/00-queues.yaml"), "has no spec"),
        (("devices", "fit", "-f", "examples/devices-drift/03-thief.yaml", "--flavor", "x"), "it knows v100"),
    ],
)
def test_mistakes_are_one_clear_message(run: str, words: tuple[str, ...], told: str) -> None:
    done = kuelog(*words, "--data", run)
    assert done.returncode == 2
    assert told in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stdout + done.stderr


def test_the_commands_about_cards_explain_themselves_with_an_example() -> None:
    for words in (("devices",), ("devices", "fit"), ("devices", "metrics"), ("drift",)):
        assert "Example: kuelog" in kuelog(*words, "--help").stdout


def test_metrics_have_hami_s_names_labels_and_units() -> None:
    told = Story().told(*platform(cards=1), job("a"))
    told.decided()
    lines = exposition(lambda: told.world).decode().splitlines()
    card = 'device_index="0",device_type="NVIDIA-V100",device_uuid="GPU-0",node="n1",zone="vGPU"'
    assert f"hami_gpu_memory_limit_bytes{{{card}}} {floatToGoString(32768 << 20)}" in lines
    assert f'hami_gpu_memory_allocated_bytes{{device_cores="100",{card}}} {floatToGoString(16000 << 20)}' in lines
    assert f"hami_gpu_core_allocated_ratio{{{card}}} 50.0" in lines
    assert f"hami_gpu_shared_count{{{card}}} 1.0" in lines
    assert 'kuelog_flavor_offered{flavor="v100",resource="nvidia.com/gpumem"} 32768.0' in lines
    assert list(CardMetrics(lambda: None).collect()) == []
