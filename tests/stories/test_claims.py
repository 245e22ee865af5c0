"""A job whose pods claim devices, on a cluster: what it shows while it waits, and that it runs where its claims are ignored."""

import pytest

from events.json_object import JsonObject
from events.settings import SettingsObserved
from tests.stage.stage import Stage, job

WORKLOADS = "workloads.kueue.x-k8s.io"
REFUSED = "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"


def claiming(claim: JsonObject) -> JsonObject:
    """A job whose pods claim a device beside what their container asks for."""
    found = job("claims", 36000)
    pods = found["spec"]["template"]["spec"]
    pods["resourceClaims"] = [{"name": "gpu", **claim}]
    pods["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    return found


def reserved(stage: Stage) -> tuple[str, str, str]:
    """Status, reason and message of the condition QuotaReserved of the only Workload; empty before it is there."""
    for one in stage.of(WORKLOADS):
        for told in (one.get("status") or {}).get("conditions") or ():
            if told["type"] == "QuotaReserved":
                return told["status"], told["reason"], told["message"]
    return "", "", ""


@pytest.mark.parametrize(
    "claim", [{"resourceClaimTemplateName": "one"}, {"resourceClaimName": "mine"}], ids=["template", "name"]
)
async def test_with_the_gate_off_a_job_that_claims_devices_waits_and_says_so(stage: Stage, claim: JsonObject) -> None:
    stage.serve(settings=SettingsObserved(gates={"KueueDRAIntegration": False}))
    await stage.add(claiming(claim))
    await stage.until(lambda: reserved(stage) == ("False", "Misconfigured", REFUSED))
    assert not stage.running("claims")


async def test_with_both_gates_off_it_runs_with_its_claims_as_they_were(stage: Stage) -> None:
    gates = {"KueueDRAIntegration": False, "KueueDRARejectWorkloadsWhenDRADisabled": False}
    stage.serve(settings=SettingsObserved(gates=gates))
    await stage.add(claiming({"resourceClaimTemplateName": "one"}))
    await stage.until(lambda: stage.running("claims"))
    found = stage.get("jobs.batch", "default", "claims")
    assert found["spec"]["template"]["spec"]["resourceClaims"] == [{"name": "gpu", "resourceClaimTemplateName": "one"}]
