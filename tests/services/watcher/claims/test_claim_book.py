"""What a workload's claims come to is told with it, and again when what they are counted by changes; never while it runs."""

from events.api.claims import ApiDevice
from events.catalogue import Fact
from events.control import ObjectRefused
from events.json_object import JsonObject
from events.settings import SettingsObserved
from events.workload import WorkloadChanged, WorkloadSpec, WorkloadSubmitted
from ops.production.device_selectors import DeviceSelectors
from services.watcher.settings.watched_kinds import CLUSTER_KINDS, seen_first
from services.watcher.view import View
from tests.services.watcher.claims.claim_objects import device_class, resource_slice, settings, template

MAPPED = settings({"gpus": ["a"]})
TWO = [{"class": "a", "count": 2}]


def view(told: SettingsObserved = MAPPED) -> View:
    return View(settings=told, selectors=DeviceSelectors())


def job(*, name: str = "j", suspend: bool = True, decided: str = "", card: str = "") -> JsonObject:
    annotations = {"kuelog.io/decision": decided} if decided else {}
    meta = {"name": name, "namespace": "default", "uid": f"u-{name}", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}
    asked = {"limits": {card: "1"}} if card else {}
    claims = [] if card else [{"name": "gpu", "resourceClaimTemplateName": "two"}]
    pods = {"containers": [{"name": "c", "resources": asked}], "resourceClaims": claims}
    spec = {"parallelism": 3, "completions": 3, "suspend": suspend, "template": {"spec": pods}}
    return {"metadata": {**meta, "annotations": annotations}, "spec": spec}


def spec_of(facts: list[Fact]) -> WorkloadSpec:
    (fact,) = facts
    assert isinstance(fact, WorkloadSubmitted | WorkloadChanged)
    return fact.spec


def charged(facts: list[Fact]) -> dict[str, int] | None:
    (pod_set,) = spec_of(facts).pod_sets
    return None if pod_set.claims is None else pod_set.claims.charged


def test_claims_are_told_counted_and_again_when_their_template_changes() -> None:
    seen = view()
    assert "two" in spec_of(seen.see("Job", job())).claims_refused
    assert seen.see("ResourceClaimTemplate", template("two", TWO)) == []
    assert seen.claims.take_changed() == {"default"}, "jobs of no other namespace claim by it"
    assert charged(seen.see("Job", job())) == {"gpus": 2}
    seen.see("ResourceClaimTemplate", template("two", [{"class": "a", "count": 5}]))
    assert charged(seen.see("Job", job())) == {"gpus": 5}
    seen.lose("ResourceClaimTemplate", "default", "two")
    assert "not found" in spec_of(seen.see("Job", job())).claims_refused


def test_nothing_is_told_again_when_what_changes_does_not_matter() -> None:
    seen = view()
    seen.see("ResourceClaimTemplate", template("two", TWO))
    seen.see("Job", job())
    seen.see("ResourceClaimTemplate", template("two", TWO, namespace="other"))
    assert seen.see("Job", job()) == []
    seen.claims.take_changed()
    seen.see("ResourceClaimTemplate", template("two", TWO))
    assert not seen.claims.take_changed(), "it was seen like this before"


def test_what_a_class_and_a_slice_mean_is_counted_anew_everywhere_when_they_come_change_and_go() -> None:
    seen = view()
    seen.see("ResourceClaimTemplate", template("two", [{"class": "a", "cel": "device.attributes['d'].big"}]))
    seen.see("ResourceClaimTemplate", template("two", TWO, namespace="other"))
    seen.claims.take_changed()
    small, big = (resource_slice("s", driver="d", devices={"g0": {"big": one}}) for one in (False, True))
    for kind, first, then in (
        ("DeviceClass", device_class("a", cel="device.driver == 'e'"), device_class("a", cel="device.driver == 'd'")),
        ("ResourceSlice", small, big),
    ):
        for value in (first, then):
            seen.see(kind, value)
            assert seen.claims.take_changed() == {""}
            facts = seen.see("Job", job())
            assert bool(facts) is (value is first and kind == "DeviceClass" or value is big)
            seen.see(kind, value)
            assert not seen.claims.take_changed(), "it was seen like this before"
    assert seen.see("Job", job()) == []
    for kind, name in (("ResourceSlice", "s"), ("DeviceClass", "a")):
        seen.lose(kind, "", name)
        assert seen.claims.take_changed() == {""}
        assert spec_of(seen.see("Job", job())).claims_refused
        seen.lose(kind, "", name)
        assert not seen.claims.take_changed(), "it was gone"


def test_a_job_that_runs_keeps_what_it_was_counted_as() -> None:
    seen = view()
    seen.see("ResourceClaimTemplate", template("two", TWO))
    seen.see("Job", job())
    seen.lose("ResourceClaimTemplate", "default", "two")
    facts = seen.see("Job", job(suspend=False, decided="LOG_0/7"))
    assert not [one for one in facts if isinstance(one, WorkloadChanged)]


def test_a_template_that_can_not_be_read_is_refused_and_the_last_that_could_counts() -> None:
    seen = view()
    seen.see("ResourceClaimTemplate", template("two", TWO))
    broken = template("two", TWO)
    broken["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = "many"
    (refused,) = seen.see("ResourceClaimTemplate", broken)
    assert isinstance(refused, ObjectRefused) and "count" in refused.problems[0].field
    assert charged(seen.see("Job", job())) == {"gpus": 2}


def test_who_asks_for_an_extended_resource_is_concerned_when_a_class_for_it_comes() -> None:
    seen = view()
    assert charged(seen.see("Job", job(card="example.com/gpu"))) is None
    assert seen.claims_at("Job/default/j")
    seen.see("DeviceClass", device_class("a", extended="example.com/gpu"))
    assert charged(seen.see("Job", job(card="example.com/gpu"))) == {"gpus": 1}
    seen.see("Job", job(name="plain", card="cpu"))
    assert not seen.claims_at("Job/default/plain")


def test_classes_templates_and_slices_are_watched_only_where_classes_are_mapped_and_the_gate_is_on() -> None:
    more = {one.kind for one in seen_first(MAPPED)} - {one.kind for one in seen_first(SettingsObserved())}
    assert more == {"DeviceClass", "ResourceClaimTemplate", "ResourceSlice", "ResourceClaim"}
    assert not more & {one.kind for one in seen_first(settings({"gpus": ["a"]}, {"KueueDRAIntegration": False}))}
    assert not more & {one.kind for one in CLUSTER_KINDS}


def pod(**changes: JsonObject) -> JsonObject:
    meta = {"name": "p", "namespace": "default", "uid": "u-p", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}
    meta["labels"]["kueue.x-k8s.io/managed"] = "true"
    spec = {
        "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}],
        "containers": [{"name": "c"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "two"}],
        **changes,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Pending"}}


def test_a_pod_without_a_job_is_counted_again_as_long_as_it_is_gated() -> None:
    seen = view()
    assert (
        "two" in spec_of([one for one in seen.see("Pod", pod()) if isinstance(one, WorkloadSubmitted)]).claims_refused
    )
    seen.see("ResourceClaimTemplate", template("two", TWO))
    assert charged(seen.see("Pod", pod())) == {"gpus": 2}
    seen.lose("ResourceClaimTemplate", "default", "two")
    assert "two" in spec_of(seen.see("Pod", pod())).claims_refused
    seen.see("ResourceClaimTemplate", template("two", TWO))
    seen.see("Pod", pod())
    seen.see("Pod", pod(schedulingGates=[]))
    seen.see("ResourceClaimTemplate", template("two", [{"class": "a", "count": 7}]))
    kept = seen.see("Pod", pod(schedulingGates=[]))
    assert not [one for one in kept if isinstance(one, WorkloadChanged)], "it runs"


def test_many_jobs_that_claim_by_one_template_are_counted_once_until_something_changes() -> None:
    class Selecting(DeviceSelectors):
        asked = 0

        def meets(self, expression: str, driver: str, device: ApiDevice) -> bool:
            self.asked += 1
            return super().meets(expression, driver, device)

    selecting = Selecting()
    seen = View(settings=MAPPED, selectors=selecting)
    seen.see("DeviceClass", device_class("a"))
    seen.see("ResourceSlice", resource_slice("s", driver="d", devices={"g0": {}}))
    seen.see("ResourceClaimTemplate", template("two", [{"class": "a", "cel": "device.driver == 'd'"}]))
    for name in ("j", "k", "l"):
        assert charged(seen.see("Job", job(name=name))) == {"gpus": 1}
    assert selecting.asked == 1
    seen.lose("ResourceSlice", "", "s")
    assert "insufficient matching devices" in spec_of(seen.see("Job", job())).claims_refused
