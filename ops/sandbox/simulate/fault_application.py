"""What each kind of fault does to a running simulation, and how what it left behind is mended."""

from collections.abc import Callable

from events.api.labels import QUEUE_NAME
from events.billing import LineKind, Meter, Price, PriceListSet
from events.json_object import JsonObject
from events.subjects import FACTS, LOG, family_of
from ops.sandbox.embedded_cluster.nodes.fault_injection import NODES, remove_node, set_card_health, set_node_ready
from ops.sandbox.simulate.fault_plan import Fault, FaultKind
from ops.sandbox.simulate.lost_tails import lose_tails
from ops.sandbox.simulate.operators import enter_at_last, skip_what_halts
from ops.sandbox.simulate.platform import KUEUE
from ops.sandbox.simulate.rolled_streams import restart_stopped, roll
from ops.sandbox.simulate.simulation import Simulation
from ops.sandbox.simulate.stray_messages import forged_message, unfit_message
from ops.sandbox.simulate.users import NAMESPACE

Application = Callable[[Simulation, Fault], None]
_MOST_SLOW_S = 2.0
_BROKEN = {"key": "broken", "value": "", "effect": "NoSchedule"}


def apply(simulation: Simulation, fault: Fault) -> None:
    """Let a fault strike now."""
    _APPLICATIONS[fault.kind](simulation, fault)


def _kill(simulation: Simulation, fault: Fault) -> None:
    process = simulation.process(fault.process)
    simulation.loop.after_steps(process.instance, fault.number % 150, lambda: simulation.kill(process, fault.lasts))


def _pause(simulation: Simulation, fault: Fault) -> None:
    process = simulation.process(fault.process)
    simulation.loop.after_steps(
        process.instance, fault.number % 150, lambda: simulation.pause(process, fault.lasts or 1000)
    )


def _armed(simulation: Simulation, fault: Fault) -> None:
    process = simulation.process(fault.process)
    simulation.faults.arm(process.name, fault.kind, 1 + fault.number % 6, fault.lasts / 1000)


def _for_all(simulation: Simulation, fault: Fault) -> None:
    simulation.faults.arm("", fault.kind, 1 + fault.number % 12)


def _down(simulation: Simulation, fault: Fault) -> None:
    simulation.faults.last("", fault.kind, max(fault.lasts, 200) / 1000)


def _restart(simulation: Simulation, fault: Fault) -> None:
    _down(simulation, fault)
    simulation.leases.forget_all()


def _slow(simulation: Simulation, fault: Fault) -> None:
    simulation.faults.last("", fault.kind, max(fault.lasts, 500) / 1000, (fault.number % 20 + 1) / 20 * _MOST_SLOW_S)


def _late(simulation: Simulation, fault: Fault) -> None:
    process = simulation.process(fault.process)
    simulation.faults.last(process.name, fault.kind, max(fault.lasts, 500) / 1000, (fault.number % 40 + 1) / 10)


def _forget(simulation: Simulation, fault: Fault) -> None:
    del fault
    simulation.cluster.store.compact()
    simulation.cluster.store.break_watches()


def _gap(simulation: Simulation, fault: Fault) -> None:
    del fault
    simulation.cluster.store.break_watches()


def _skew(simulation: Simulation, fault: Fault) -> None:
    clock = simulation.process(fault.process).clock
    clock.wrong_by = (-1 if fault.number % 3 == 0 else 1) * (1, 50, 2000, 60_000, 86_400_000)[fault.number % 5]

    def right() -> None:
        clock.wrong_by = 0

    simulation.after(max(fault.lasts, 1000), right)


def _quota(simulation: Simulation, fault: Fault) -> None:
    """An administrator changes the quotas of a queue, and back."""
    name = simulation.platform.queues[fault.number % len(simulation.platform.queues)]
    factor = (0, 1, 3)[fault.number // 8 % 3]

    def changed(queue: JsonObject) -> JsonObject:
        group = queue["spec"]["resourceGroups"][0]
        flavors = [
            {
                **flavor,
                "resources": [
                    {**one, "nominalQuota": str(int(one["nominalQuota"]) * factor // 2)} for one in flavor["resources"]
                ],
            }
            for flavor in group["flavors"]
        ]
        return {**queue, "spec": {**queue["spec"], "resourceGroups": [{**group, "flavors": flavors}]}}

    _change_queue(simulation, name, changed, fault.lasts)


def _stop(simulation: Simulation, fault: Fault) -> None:
    """An administrator stops a queue, and lets it go on."""
    name = simulation.platform.queues[fault.number % len(simulation.platform.queues)]
    policy = ("Hold", "HoldAndDrain", "HoldAndDrain")[fault.number // 8 % 3]

    def changed(queue: JsonObject) -> JsonObject:
        return {**queue, "spec": {**queue["spec"], "stopPolicy": policy}}

    _change_queue(simulation, name, changed, fault.lasts)


def _cohort(simulation: Simulation, fault: Fault) -> None:
    """An administrator moves a queue to another cohort, and back."""
    name = simulation.platform.queues[fault.number % len(simulation.platform.queues)]
    cohort = ("team", "root", "elsewhere")[fault.number // 8 % 3]

    def changed(queue: JsonObject) -> JsonObject:
        return {**queue, "spec": {**queue["spec"], "cohortName": cohort}}

    _change_queue(simulation, name, changed, fault.lasts)


def _change_queue(simulation: Simulation, name: str, change: Callable[[JsonObject], JsonObject], lasts: int) -> None:
    simulation.change("clusterqueues", "", name, change)
    simulation.after(max(lasts, 1000), lambda: simulation.restore(name))


def _node(simulation: Simulation, fault: Fault) -> None:
    node = simulation.platform.nodes[fault.number % len(simulation.platform.nodes)]
    store = simulation.cluster.store
    known = store.get(NODES, ("", node))
    if known is None:
        return
    match fault.number // 8 % 3 if simulation.platform.nodes_go else 0:
        case 0:
            set_node_ready(store, node, ready=False)
        case 1:
            remove_node(store, node)
        case _:
            store.put(NODES, ("", node), {**known, "spec": {**known["spec"], "taints": [*_taints(known), _BROKEN]}})
    simulation.after(max(fault.lasts, 1000), lambda: _bring_back(simulation, node))


def _bring_back(simulation: Simulation, node: str) -> None:
    """A node is made anew if it is gone, and nothing keeps pods off any more."""
    store = simulation.cluster.store
    known = store.get(NODES, ("", node))
    if known is None:
        simulation.create(NODES, next(one for one in simulation.platform.objects if _is_node(one, node)))
        return
    spec = {**known["spec"], "taints": [one for one in _taints(known) if one != _BROKEN]}
    store.put(NODES, ("", node), {**known, "spec": spec})
    set_node_ready(store, node, ready=True)


def _taints(node: JsonObject) -> list[JsonObject]:
    return node["spec"].get("taints") or []


def _is_node(value: JsonObject, name: str) -> bool:
    return value["kind"] == "Node" and value["metadata"]["name"] == name


def _card(simulation: Simulation, fault: Fault) -> None:
    cards = [(node, card) for node, found in simulation.platform.cards.items() for card in found]
    if not cards:
        return
    node, card = cards[fault.number % len(cards)]
    if simulation.cluster.store.get(NODES, ("", node)) is None:
        return
    set_card_health(simulation.cluster.store, node, card, healthy=False)
    simulation.after(max(fault.lasts, 1000), lambda: _repair(simulation, node, card))


def _repair(simulation: Simulation, node: str, card: str) -> None:
    if simulation.cluster.store.get(NODES, ("", node)) is not None:
        set_card_health(simulation.cluster.store, node, card, healthy=True)


def _price(simulation: Simulation, fault: Fault) -> None:
    now = simulation.clock.now()
    prices = (Price(meter=Meter.EXCLUSIVE, unit_price=f"{fault.number % 9 + 1}.5"),)
    event = PriceListSet(
        name=f"list-{fault.index}", currency="EUR", starts=now, prices=prices, charges=(LineKind.USAGE,)
    )
    simulation.operate(lambda: enter_at_last(simulation, event))


def _bad_object(simulation: Simulation, fault: Fault) -> None:
    """Objects that the API takes and nobody can understand."""
    queue = simulation.platform.queues[fault.number % len(simulation.platform.queues)]
    name, space = f"poison-{fault.index}", simulation.platform.namespaces.get(queue, NAMESPACE)
    made: list[tuple[str, JsonObject]] = [
        ("jobs", _odd_job(name, queue, space, {"requests": {"example.com/unknown": "1"}})),
        ("jobs", _odd_job(name, queue, space, {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "99999999"}})),
        ("cohorts", {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": {"parentName": name}}),
        ("jobs", _odd_job(name, "no-such-queue", space, {"requests": {"cpu": "1"}})),
    ]
    plural, value = made[fault.number // 8 % len(made)]
    simulation.create(plural, value)
    simulation.after(max(fault.lasts, 5000), lambda: simulation.remove(plural, value))


def _odd_job(name: str, queue: str, namespace: str, resources: JsonObject) -> JsonObject:
    container = {"name": "main", "image": "x", "resources": resources}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": {QUEUE_NAME: queue}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


def _bad_message(simulation: Simulation, fault: Fault) -> None:
    """Somebody with rights stores what halts a partition; an operator who looks in a while later has it skipped."""
    streams = (FACTS, *simulation.partitions())
    memory, facts = simulation.bus.memory(streams[fault.number % len(streams)]), simulation.bus.memory(FACTS)
    simulation.bus_stores(lambda: (memory, unfit_message(fault, memory, facts, simulation.clock.now())))
    simulation.after(max(fault.lasts, 1000), lambda: simulation.operate(lambda: skip_what_halts(simulation)))


def _forged(simulation: Simulation, fault: Fault) -> None:
    trees = [one for one in simulation.partitions() if family_of(one) == LOG]
    facts, partition = simulation.bus.memory(FACTS), simulation.bus.memory(trees[fault.number // 2 % len(trees)])
    simulation.bus_stores(lambda: forged_message(fault, facts, partition, simulation.clock.now()))


def _roll(simulation: Simulation, fault: Fault) -> None:
    streams = (*simulation.partitions(), FACTS)
    name = streams[fault.number % len(streams)]
    simulation.operate(lambda: roll(simulation, name, fault.lasts))
    simulation.operate(lambda: restart_stopped(simulation))


def _lose_tail(simulation: Simulation, fault: Fault) -> None:
    _restart(simulation, fault)
    simulation.operate(lambda: lose_tails(simulation, fault))
    simulation.operate(lambda: restart_stopped(simulation))


def _lease_lost(simulation: Simulation, fault: Fault) -> None:
    simulation.leases.forget(fault.number)


def _lease_stolen(simulation: Simulation, fault: Fault) -> None:
    simulation.leases.steal(fault.number)


def _leases_away(simulation: Simulation, fault: Fault) -> None:
    simulation.faults.last(simulation.process(fault.process).name, fault.kind, fault.lasts / 1000)


_APPLICATIONS: dict[FaultKind, Application] = {
    FaultKind.KILL: _kill,
    FaultKind.PAUSE: _pause,
    FaultKind.MESSAGE_LOST: _armed,
    FaultKind.ACK_LOST: _armed,
    FaultKind.ACK_UNRESOLVED: _armed,
    FaultKind.MESSAGE_DOUBLED: _armed,
    FaultKind.MESSAGE_LATE: _armed,
    FaultKind.DELIVERY_LATE: _late,
    FaultKind.DELIVERY_DOUBLED: _armed,
    FaultKind.BUS_DOWN: _restart,
    FaultKind.API_CONFLICT: _for_all,
    FaultKind.API_EXPIRED: _forget,
    FaultKind.API_BUSY: _for_all,
    FaultKind.API_BROKEN: _for_all,
    FaultKind.API_CUT: _for_all,
    FaultKind.API_SLOW: _slow,
    FaultKind.WATCH_GAP: _gap,
    FaultKind.LATE_WATCHER: _late,
    FaultKind.CLOCK_SKEW: _skew,
    FaultKind.QUOTA: _quota,
    FaultKind.QUEUE_STOP: _stop,
    FaultKind.COHORT: _cohort,
    FaultKind.NODE: _node,
    FaultKind.CARD: _card,
    FaultKind.PRICE: _price,
    FaultKind.POISON_OBJECT: _bad_object,
    FaultKind.POISON_MESSAGE: _bad_message,
    FaultKind.FORGED_MESSAGE: _forged,
    FaultKind.STREAM_ROLL: _roll,
    FaultKind.LOST_TAIL: _lose_tail,
    FaultKind.LEASE_LOST: _lease_lost,
    FaultKind.LEASE_STOLEN: _lease_stolen,
    FaultKind.LEASE_LATE: _armed,
    FaultKind.LEASE_ANSWERED_LATE: _armed,
    FaultKind.LEASE_UNANSWERED: _armed,
    FaultKind.LEASES_AWAY: _leases_away,
}
