"""Devices that pods claim as they are shown: who has them, and nothing of those whom a reader may not see."""

import msgspec

from events.claims import ResourceClaimObserved
from ops.production.claimed_view import device_rows
from projections.explanation.redaction import Redaction
from tests.projections.claims.test_held_devices import MAPPED, POD, SLICE, held, world_after


def test_a_row_names_job_pods_and_claim_and_what_the_class_counts_as() -> None:
    rows = device_rows(world_after(MAPPED, SLICE, held("c", "g1"), POD))
    assert [(one.node, one.device, one.state, len(one.holders)) for one in rows] == [
        ("n1", "g0", "ok", 0),
        ("n1", "g1", "ok", 1),
    ]
    (holder,) = rows[1].holders
    assert (holder.holder, holder.pods, holder.claim, holder.resource) == ("team/w", ("team/p",), "team/c", "gpus")


def test_a_pod_that_no_queue_manages_and_a_claim_that_none_uses_hold_under_their_own_names() -> None:
    alone = ResourceClaimObserved(namespace="team", name="e", devices=held("e", "g0").devices)
    rows = device_rows(world_after(MAPPED, held("c", "g1"), alone))
    assert [(one.device, one.state, one.holders[0].holder) for one in rows] == [
        ("g0", "not published", "claim:team/e"),
        ("g1", "not published", "pod:team/p"),
    ]
    assert device_rows(world_after(MAPPED, SLICE), node="n2") == []


def test_who_may_not_read_a_namespace_sees_that_a_device_is_held_and_not_by_whom() -> None:
    world = world_after(MAPPED, SLICE, held("c", "g1"), POD)
    shown = Redaction(frozenset({"mine"}), frozenset({"mine", "team"}), world.nodes).of(
        msgspec.to_builtins(device_rows(world))
    )
    text = str(shown)
    assert len(shown[1]["holders"]) == 1 and "team/" not in text
