import msgspec

from events.json_object import JsonObject
from services.watcher.jobs.last_seen_jobs import LastSeenJobs
from tests.held import held

PLACE, MANY = "Job/team/train", 200


def _job(number: int) -> JsonObject:
    containers = [
        {"name": f"c{one}", "image": "train", "env": [{"name": "N", "value": str(number)}]} for one in range(4)
    ]
    return {
        "metadata": {"namespace": "team", "name": f"train-{number}", "labels": {"number": str(number)}},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


def test_a_job_is_given_as_it_was_seen_last_and_whoever_changes_it_changes_a_copy() -> None:
    seen = LastSeenJobs()
    seen.note(PLACE, _job(1))
    seen.note(PLACE, _job(2))
    given = seen.of(PLACE)
    assert given == _job(2)
    given["metadata"].clear()
    assert seen.of(PLACE) == _job(2)
    seen.forget(PLACE)
    assert seen.of(PLACE) is None and seen.places() == []


def test_places_are_in_order_whatever_was_seen_first() -> None:
    seen = LastSeenJobs()
    for name in ("Job/b/x", "Job/a/y", "AppWrapper/z/z"):
        seen.note(name, _job(0))
    assert seen.places() == ["AppWrapper/z/z", "Job/a/y", "Job/b/x"]


def test_jobs_that_were_seen_take_hardly_more_than_they_are_long() -> None:
    jobs = [msgspec.json.encode(_job(one)) for one in range(MANY)]

    def see() -> LastSeenJobs:
        seen = LastSeenJobs()
        for number, one in enumerate(jobs):
            seen.note(f"Job/team/train-{number}", msgspec.json.decode(one))
        return seen

    assert held(see) < 2 * sum(map(len, jobs))


def test_what_is_nested_too_deep_to_be_written_is_as_if_it_was_not_seen() -> None:
    deep: JsonObject = {}
    for _ in range(100_000):
        deep = {"in": deep}
    seen = LastSeenJobs()
    seen.note(PLACE, _job(1))
    seen.note(PLACE, deep)
    assert seen.of(PLACE) is None
    while deep:
        deep = deep["in"]  # From the outside in: to let go of all of it at once goes as deep.
