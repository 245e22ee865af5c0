"""Two MultiKueueClusters that lead to one cluster: the one that was connected goes on, and the other one is refused.

Rule: docs/rules/multikueue.md#one-name
"""

import asyncio

from events.multikueue import KubeConfigPlace, MultiKueueClusterObserved
from ops.sandbox.embedded_cluster.embedded import kubeconfig_text
from services.multikueue.one_name import OneName, address_in

THERE, BESIDE = "https://there:6443", "https://beside:6443"


def named(*names: str, active: str = "") -> dict[str, MultiKueueClusterObserved]:
    return {
        name: MultiKueueClusterObserved(
            name=name, uid=name, location=name, location_type=KubeConfigPlace.SECRET, active=name == active
        )
        for name in names
    }


async def test_who_comes_first_leads_to_a_cluster_until_it_is_gone_or_leads_elsewhere() -> None:
    told = OneName(lambda _: None)
    told.want(named("b", "c"))
    assert await told.other("c", THERE) == "" and await told.other("b", THERE) == "c"
    assert await told.other("b", BESIDE) == "" and await told.other("c", THERE) == ""
    assert await told.other("c", BESIDE) == "b", "it leads to the other's cluster by now"
    assert await told.other("b", THERE) == "" and await told.other("c", BESIDE) == ""
    told.want(named("c"))
    assert await told.other("c", THERE) == "", "the other one is gone"


async def test_who_was_connected_before_the_process_began_comes_first() -> None:
    told = OneName(lambda _: None)
    told.want(named("a", "b", active="b"))
    waits = asyncio.create_task(told.other("a", THERE))
    await asyncio.sleep(0)
    assert not waits.done()
    assert await told.other("b", THERE) == ""
    told.note_tried("b")
    assert await waits == "b"


async def test_who_was_connected_and_leads_nowhere_by_now_keeps_nobody_waiting() -> None:
    told = OneName(lambda _: None)
    told.want(named("a", "b", active="b"))
    waits = asyncio.create_task(told.other("a", THERE))
    told.note_tried("b")
    assert await waits == ""


async def test_who_is_connected_by_what_another_process_shows_takes_the_place_of_the_other() -> None:
    again: list[str] = []
    told = OneName(again.append)
    told.want(named("a", "b"))
    assert await told.other("a", THERE) == "" and await told.other("b", THERE) == "a"
    told.want(named("a", "b", active="b"))
    assert await told.other("b", THERE) == "" and again == ["a"]
    assert await told.other("a", THERE) == "b"
    told.want(named("a", active="a") | named("b", active="b"))
    assert await told.other("a", THERE) == "b" and again == ["a"], "it stays with who has it while that is connected"


def test_an_address_is_that_of_the_context_that_is_in_use_with_the_name_that_is_proved() -> None:
    assert address_in(kubeconfig_text("https://there:6443/")) == THERE
    routed = kubeconfig_text(THERE).replace(THERE, f"{THERE}\n    tls-server-name: one")
    assert address_in(routed) == f"{THERE} (one)"
