"""A scenario whose jobs claim devices is played to its end, and its log is asked: who held what, what it costs, and why one waits."""

import json
from decimal import Decimal
from pathlib import Path

import yaml

from ops.sandbox.scenario.platform import platform
from ops.sandbox.scenario.play import play
from ops.sandbox.scenario.script import load, settings_of
from tests.ops.cli.test_command_line import kuelog
from tests.stories.claiming import claiming, devices, one_class, one_template, queue_manifests

SCRIPT = """
title: claims
atMost: 300
clockScale: 20
configuration: configuration.yaml
nodes: [{count: 1, prefix: cpu, cards: 0}]
steps:
- {at: 0, apply: [all.yaml, first.yaml]}
- {at: 0, after: [{job: default/first}], apply: [second.yaml]}
- {at: 0, after: [{job: default/second, state: waits}], apply: [never.yaml]}
- {at: 0, after: [{job: default/second, state: ended}]}
"""
CONFIGURATION = "resources: {deviceClassMappings: [{name: gpus, deviceClassNames: [gpu]}]}\n"
PRICES = """
name: devices
currency: EUR
from: 2026-01-01
prices:
- {resource: gpus, price: "3600"}
"""


def asked(*words: str, data: Path) -> str:
    done = kuelog(*words, "--data", str(data))
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_what_claims_come_to_is_played_shown_explained_replayed_and_billed(tmp_path: Path) -> None:
    objects = {
        "all": [devices(8, on="cpu-1"), one_class(), one_template("two", count=2), *queue_manifests("gpus", nominal=7)],
        "first": [claiming("first", templates=("two",), pods=3, seconds=20)],
        "second": [claiming("second", templates=("two",), seconds=2)],
        "never": [claiming("never", templates=("lost",))],
    }
    for name, documents in objects.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(documents))
    for name, text in (("scenario", SCRIPT), ("configuration", CONFIGURATION), ("prices", PRICES)):
        (tmp_path / f"{name}.yaml").write_text(text)
    script, data = load(tmp_path), tmp_path / "data"
    settings = settings_of(script, tmp_path)
    async with platform(data, scale=script.clock_scale, settings=settings) as on:
        await play(script, tmp_path, on, loose=False, print_line=lambda _line: None)
    explained = asked("explain", "default/never", data=data)
    assert "failed to get claim spec for ResourceClaimTemplate lost" in explained and "mend what is named" in explained
    told = asked("explain", "default/first", data=data)
    assert "ResourceClaimTemplate two asks for 2 of DeviceClass gpu, 2 gpus for each pod" in told
    assert "come out the same, byte for byte" in asked("replay", "--verify", data=data)
    asked("price", "set", "-f", str(tmp_path / "prices.yaml"), data=data)
    bill = json.loads(asked("bill", "-o", "json", data=data))
    (held,) = bill["quota"]["held"]
    (usage,) = [line for line in bill["lines"] if line["kind"] == "usage"]
    assert (held["resource"], held["tenant"]) == ("gpus", "default") and held["unit_ms"] > 6 * 20_000
    assert Decimal(usage["cost"]) * 1000 == held["unit_ms"], "3600 for an hour is 1 for a second"
