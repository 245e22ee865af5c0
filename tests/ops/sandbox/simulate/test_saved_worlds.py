"""The law of saved worlds notices what a world holds and its tables do not say."""

from events.admission import QuotaReserved
from ops.sandbox.simulate.saved_worlds import SavedWorlds
from projections.log_position import LogPosition
from tests.services.admitter.test_topology_with_cards import asking, host, racked


def test_what_would_be_gone_with_the_next_start_is_named() -> None:
    story = racked(host("a", "r1", cards=2)).told(asking("w", count=2))
    story.decided()
    story.world.partition = "LOG_0"
    (found,) = [one for one in story.decisions if isinstance(one, QuotaReserved)]
    laws = SavedWorlds(story.world)
    laws.hear(LogPosition(partition="LOG_0", sequence=16, at=1))
    assert laws.broken == []
    story.world.domains.charge("team/gone", found.assignments)
    laws.hear(LogPosition(partition="LOG_0", sequence=17, at=1))
    assert laws.broken == [], "it is tried every so many commits"
    laws.hear(LogPosition(partition="LOG_0", sequence=32, at=1))
    (said,) = laws.broken
    assert said.startswith("LOG_0/32 ") and said.endswith("domains of team/gone")
