"""The stream of control: what it skips, what it can't say, and how fast clocks run."""

from events.codec import encode
from events.commit import Commit
from events.control import ClockScaled, Quarantined
from events.hash_chain import GENESIS
from events.subjects import CONTROL, FACTS, commit_subject
from services.runtime.control_log import AHEAD, Control
from services.runtime.log_port import Entry


def said(sequence: int, *events: Quarantined | ClockScaled, author: str = "operator") -> Entry:
    commit = Commit(
        id=str(sequence),
        prev_hash=GENESIS,
        partition=CONTROL,
        base=sequence - 1,
        inputs=(),
        author=author,
        epoch=0,
        rules="1",
        at=1,
        events=events,
    )
    return stored(sequence, encode(commit), author)


def stored(sequence: int, data: bytes, author: str = "operator") -> Entry:
    subject = commit_subject(CONTROL, author)
    return Entry(stream=CONTROL, sequence=sequence, subject=subject, message_id=str(sequence), data=data)


def test_what_stands_behind_an_unreadable_message_counts_and_can_skip_it() -> None:
    control = Control([stored(1, b"[" * 200_000), said(2, Quarantined(stream=FACTS, sequence=7, reason="r"))])
    assert control.skipped == {(FACTS, 7): "r"}
    assert list(control.unread) == [1] and "can't be read" in control.unread[1]
    control.take([said(3, Quarantined(stream=CONTROL, sequence=1, reason="r"))])
    assert not control.unread


def test_only_operators_are_heard() -> None:
    control = Control([said(1, Quarantined(stream=FACTS, sequence=7, reason="r"), author="watcher")])
    assert not control.skipped and "does not count" in control.unread[1]


def test_how_late_a_message_may_be_follows_the_clocks_on_record() -> None:
    assert Control().latest(0) is None
    assert Control().latest(50_000) == 50_000 + AHEAD
    tenfold = Control([said(1, ClockScaled(since=20_000, rate=10_000))])
    assert tenfold.latest(50_000) == 20_000 + 300_000 + AHEAD
    assert tenfold.latest(10_000) == 10_000 + AHEAD
    slow = Control([said(1, ClockScaled(since=0, rate=500))])
    assert slow.latest(50_000) == 50_000 + AHEAD
