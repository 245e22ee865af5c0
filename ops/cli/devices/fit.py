"""`kuelog devices fit`: would a pod fit, where, and if not, why, card by card, and who could make room."""

from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from events.api.pods import PodTemplate
from events.json_path import FieldBroken
from events.pod_set import PodSet
from events.quota import FlavorObserved
from ops.cli.devices.cards import read_moment
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.files.manifests import Document, read_objects
from ops.production.cards_view import job_of
from ops.queries.time_travel import as_of, stamp
from ops.terminal.form import AnswerForm, print_answer
from projections.devices.capacity.fragmentation import Advice, make_room
from projections.devices.placement.gang import EXCEEDS_CARDS, WAITING_FOR_CARDS, Gang, Placed, place_or_tell
from projections.devices.placement.why import NodeAnswer, answers
from projections.devices.requests.card_requests import asks_for_cards
from projections.devices.requests.refused_pods import refused_by_hami, refused_pods
from projections.devices.state import DeviceState, config_of
from projections.topology.placement.largest import LargestJob, largest_jobs
from projections.topology.placement.making_room import make_room_in_domains
from projections.topology.placement.workload_cards import ledger_of
from projections.topology.placement.workload_placement import first_failure, place_with_cards
from projections.topology.requests.gates import topology_gates
from projections.topology.requests.pod_set_request import pods_asking
from projections.topology.requests.topology_request import FlavorRoom
from projections.world import World
from services.jobs.pod_sets.pod_set import PodIndex
from services.jobs.topology.topology_request import topology_request
from services.watcher.fields.pod_shapes import pod_shape
from services.watcher.fields.problems import Refused


class FitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a manifest's pods fit in one flavor, and if not, who could make room."""

    flavor: str
    fits: bool
    placed: Placed
    nodes: tuple[NodeAnswer, ...] = ()
    advice: Advice | None = None
    largest: tuple[LargestJob, ...] = ()
    """Of a flavor with a topology, the largest job of such pods that still fits into one domain of each level."""


def run_fit(file: Path, source: LogSource, *, at: str, flavor: str, output: AnswerForm, console: Console) -> int:
    """Answer for every manifest of a file; 0 when all of them fit, 1 when one does not."""
    with known_failures() as outcome:
        documents = read_objects([file])
        moment = read_moment(source, at)
        gangs = [(document, pod_set(document, moment.world)) for document in documents]
        answers: list[dict[str, Any]] = []
        all_fit = True
        for document, pods in gangs:
            found = [_ask(moment.world, pods, one) for one in _flavors(moment.world, flavor, document)]
            fits = any(answer.fits for answer in found)
            all_fit = all_fit and fits
            answers.append({"object": document.label, "fits": fits, "flavors": found})
            if output is AnswerForm.TEXT:
                _show(document, pods, found, moment.world, console)
        if output is not AnswerForm.TEXT:
            print_answer({**stamp(moment), "objects": answers}, output)
        else:
            console.print(f"as of {as_of(moment.at, moment.upto)}", style="dim")
        outcome.code = 0 if all_fit else 1
    return outcome.code


def pod_set(document: Document, world: DeviceState) -> PodSet:
    """The pods of a Pod, or of anything with a pod template, with the domains that it asks for. Raises `ManifestBroken`."""
    value = document.value
    spec: Any = value.get("spec")
    if not isinstance(spec, dict):
        raise document.broken("it has no spec")
    template: Any = value if value.get("kind") == "Pod" else spec.get("template")
    if not isinstance(template, dict):
        raise document.broken("it is no Pod, and has no spec.template")
    count: Any = spec.get("parallelism", spec.get("replicas", 1)) if value.get("kind") != "Pod" else 1
    if not isinstance(count, int) or count < 1:
        raise document.broken(f"{count!r} is no number of pods")
    meta: Any = template.get("metadata") or {}
    try:
        read = msgspec.convert(
            {"metadata": {**meta, "name": meta.get("name", "")}, "spec": template.get("spec") or {}}, PodTemplate
        )
        shape = pod_shape(read, "pod")
        topology = topology_request(template, PodIndex(), world.settings)
    except (msgspec.ValidationError, Refused, FieldBroken) as problem:
        raise document.broken(str(problem)) from problem
    if not asks_for_cards(shape, config_of(world)) and not refused_by_hami(shape, config_of(world)):
        raise document.broken("no container of it asks for a card")
    return PodSet(name="main", count=count, shape=shape, topology=topology)


def _flavors(world: World, named: str, document: Document) -> list[FlavorObserved | None]:
    if named and named not in world.flavors:
        known = ", ".join(sorted(world.flavors)) or "none"
        raise document.broken(f"the log knows no flavor {named}; it knows {known}")
    if named:
        return [world.flavors[named]]
    return [world.flavors[name] for name in sorted(world.flavors)] or [None]


def _ask(world: World, pods: PodSet, flavor: FlavorObserved | None) -> FitAnswer:
    gang = Gang(pod_set=pods, count=pods.count, flavor=flavor, config=config_of(world))
    name = flavor.name if flavor is not None else ""
    refused = refused_pods([pods], gang.config)
    if refused:
        placed = Placed(pod_set=pods.name, reason=EXCEEDS_CARDS, message=refused)
        return FitAnswer(flavor=name, fits=False, placed=placed)
    room = world.domains.room(name)
    if room is not None:
        return _ask_domains(world, room, gang, name)
    placed = place_or_tell(world.cards, world.nodes, [gang], world.trail)
    if placed.placements:
        return FitAnswer(flavor=name, fits=True, placed=placed)
    return FitAnswer(
        flavor=name, fits=False, placed=placed, nodes=tuple(answers(world, gang)), advice=make_room(world, [gang])
    )


def _ask_domains(world: World, room: FlavorRoom, gang: Gang, flavor: str) -> FitAnswer:
    """The same for a flavor with a topology: its pods lie in domains, and get the cards of these."""
    gates, ledger = topology_gates(world.settings), ledger_of(world)
    request = pods_asking(world, "", gang.pod_set, gang.count, flavor)
    found = place_with_cards({flavor: room}, [request], gates, ledger, [gang])
    largest = largest_jobs(room, request, gates, ledger, gang)
    failed = first_failure(found.pod_sets)
    if failed is None:
        return FitAnswer(flavor=flavor, fits=True, placed=Placed(placements=found.cards), largest=largest)
    return FitAnswer(
        flavor=flavor,
        fits=False,
        placed=Placed(pod_set=failed.pod_set, reason=WAITING_FOR_CARDS, message=failed.failure),
        nodes=tuple(answers(world, gang)),
        advice=make_room_in_domains(world, [request], [gang]),
        largest=largest,
    )


def _show(document: Document, pods: PodSet, found: list[FitAnswer], world: World, console: Console) -> None:
    console.print(f"[bold]{document.label}[/bold], {pods.count} pod(s)", highlight=False)
    fitting = [answer for answer in found if answer.fits]
    for answer in fitting or found:
        flavor = answer.flavor or "any node"
        if answer.fits:
            console.print(f"  [green]fits[/green] in {flavor}", highlight=False)
            for one in answer.placed.placements:
                shares = ", ".join(
                    f"{share.uuid} ({share.memory} MiB, {share.cores} cores)"
                    for each in one.containers
                    for share in each
                )
                console.print(f"    pod {one.index + 1}: {one.node}: {shares}", highlight=False, soft_wrap=True)
            _show_largest(answer, console)
            continue
        console.print(
            f"  [red]does not fit[/red] in {flavor}: {answer.placed.message}", highlight=False, soft_wrap=True
        )
        _show_largest(answer, console)
        _show_nodes(answer, console)
        _show_advice(answer.advice, world, console)


def _show_largest(answer: FitAnswer, console: Console) -> None:
    for one in answer.largest:
        where = "/".join(one.values)
        console.print(
            f"    the largest job that fits into one {one.level}: {one.pods} pod(s), in {where}",
            highlight=False,
            soft_wrap=True,
            markup=False,
        )


def _show_nodes(answer: FitAnswer, console: Console) -> None:
    """The verdict of each card on one pod; cards of a node with the same verdict share a line."""
    for node in answer.nodes:
        verdict = "takes one pod" if node.fits else node.reason
        console.print(f"    {node.node}: {verdict}", highlight=False, soft_wrap=True, markup=False)
        verdicts: dict[str, list[str]] = {}
        for card in node.cards:
            verdicts.setdefault(", ".join(card.reasons) or "would serve", []).append(card.card)
        for words, cards in verdicts.items():
            console.print(f"      {', '.join(cards)}: {words}", highlight=False, soft_wrap=True, markup=False)


def _show_advice(advice: Advice | None, world: World, console: Console) -> None:
    if advice is None:
        console.print("  nobody could make room for it: it asks for more than the cards have")
        return
    console.print("  room could be made:")
    for step in advice.steps:
        where = f", it fits on {', '.join(sorted({one.node for one in step.to}))} then" if step.to else ""
        frees = f": frees {', '.join(step.cards)}" if step.cards else ""
        console.print(f"    {step.way} {job_of(world, step.holder)}{frees}{where}", highlight=False, soft_wrap=True)
