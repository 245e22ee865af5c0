"""`kuelog import-pods`: bring pods that run, and that no queue manages, into queues."""

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from events.json_object import JsonObject, is_array, is_object
from events.settings import SettingsObserved
from ops.cli.failures import known_failures
from ops.cli.key_values import key_values
from ops.cli.object_names import namespaces
from ops.cli.serving.serve import settings_of
from ops.files.reading import yaml_file
from ops.production.kubernetes.client import KubeClient, connect
from ops.production.pod_import import SET_LABELS, MappingRule, PodImport, carry_out, found_pods, planned, targets
from ops.production.process.clock import ScaledClock
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output, print_answer
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing
from services.validation.fields.names import labels_problems

console = terminal(soft_wrap=True)


class ImportedPod(msgspec.Struct, frozen=True, kw_only=True):
    """One pod, and what has become of it, or would."""

    pod: str
    queue: str
    cluster_queue: str
    flavors: dict[str, str]
    problem: str


class PodsImported(msgspec.Struct, frozen=True, kw_only=True):
    """All pods that were looked at, and whether they were brought in or only checked."""

    dry_run: bool
    pods: list[ImportedPod]

    @property
    def failed(self) -> int:
        """How many stay as they are."""
        return sum(1 for one in self.pods if one.problem)


def import_pods(
    namespace: Annotated[
        list[str],
        typer.Option(
            "-n", "--namespace", help="A namespace, or several with commas; may be repeated.", autocompletion=namespaces
        ),
    ],
    queuelabel: Annotated[str, typer.Option(help="The label of pods by which they are mapped.")] = "",
    queuemapping: Annotated[
        str, typer.Option(help="VALUE=QUEUE[,VALUE=QUEUE]: to which LocalQueue each value of that label goes.")
    ] = "",
    queuemapping_file: Annotated[
        Path | None, typer.Option(help="Or a file with rules, in the form of Kueue's importer.")
    ] = None,
    add_labels: Annotated[str, typer.Option(help="KEY=VALUE[,KEY=VALUE]: labels that pods and Workloads get.")] = "",
    kubeconfig: Annotated[str, typer.Option(help="The cluster; KUBECONFIG else.")] = "",
    context: Annotated[str, typer.Option(help="The context of that kubeconfig.")] = "",
    config: Annotated[Path | None, typer.Option(help="Kueue's Configuration file, if there is one.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run/--no-dry-run", help="Only check, and say what is wrong.")] = True,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Bring pods that run and that no queue manages into queues: each gets a Workload that holds its quota, and runs on.

    Exit codes: 0 all of them, or all of them could be; 1 some stay as they are; 2 a mistake.

    Example: kuelog import-pods -n lab --queuelabel team --queuemapping a=queue-a,b=queue-b --no-dry-run
    """
    with known_failures((ObjectMissing,)) as outcome:
        settings = settings_of(config, terminal(stderr=True, soft_wrap=True))
        rules = _rules(queuelabel, queuemapping, queuemapping_file)
        extra = _labels(add_labels)
        spaces = [one.strip() for text in namespace for one in text.split(",") if one.strip()]
        answer = asyncio.run(imported(spaces, rules, extra, settings, (kubeconfig, context), dry_run=dry_run))
        if output is not AnswerForm.TEXT:
            print_answer(answer, output)
        else:
            _print(answer)
        outcome.code = 1 if answer.failed else 0
    raise typer.Exit(outcome.code)


async def imported(
    namespaces: list[str],
    rules: list[MappingRule],
    add: dict[str, str],
    settings: SettingsObserved,
    where: tuple[str, str],
    *,
    dry_run: bool,
) -> PodsImported:
    """Check all pods, and bring them in if it is meant so and nothing is wrong with any of them.

    Raises `ObjectMissing` where there is no such namespace.
    """
    client = await connect(*where, service="import-pods")
    try:
        found = planned(await found_pods(client, namespaces), rules, await targets(client), settings)
        writes = not dry_run and not any(one.problem for one in found)
        if writes:
            found = [await _brought_in(client, one, add) for one in found]
        return PodsImported(dry_run=not writes, pods=[_told(one) for one in found])
    finally:
        await client.close()


async def _brought_in(client: KubeClient, one: PodImport, add: dict[str, str]) -> PodImport:
    """One that has gone or changed meanwhile keeps nobody else out."""
    try:
        await carry_out(client, one, add, ScaledClock().now())
    except (ObjectMissing, ObjectInvalid, ObjectConflict) as problem:
        return msgspec.structs.replace(one, problem=str(problem))
    return one


def _told(one: PodImport) -> ImportedPod:
    return ImportedPod(
        pod=one.pod,
        queue=one.queue,
        cluster_queue=one.cluster_queue,
        flavors=dict(one.flavors),
        problem=one.problem,
    )


def _rules(label: str, mapping: str, file: Path | None) -> list[MappingRule]:
    if file is not None:
        if label or mapping:
            raise typer.BadParameter("--queuemapping-file holds all rules: leave out --queuelabel and --queuemapping")
        return _rules_in(file)
    if not label or not mapping:
        raise typer.BadParameter("name --queuelabel and --queuemapping, or --queuemapping-file")
    pairs = key_values("--queuemapping", mapping)
    return [MappingRule(labels={label: value}, to_local_queue=queue) for value, queue in pairs.items()]


def _rules_in(file: Path) -> list[MappingRule]:
    found: object = yaml_file(file)
    if not is_array(found):
        raise typer.BadParameter(f"{file}: a list of rules is expected, each with match and toLocalQueue or skip")
    return [_rule(file, number, one) for number, one in enumerate(found)]


def _rule(file: Path, number: int, found: object) -> MappingRule:
    def wrong(problem: str) -> typer.BadParameter:
        return typer.BadParameter(f"{file}: rule {number + 1} {problem}")

    value: JsonObject = found if is_object(found) else {}
    match: object = value.get("match")
    if not is_object(match):
        raise wrong("needs match: with labels or priorityClassName, or {} for all pods that are left")
    unknown = sorted({*value} - {"match", "toLocalQueue", "skip"} | {*match} - {"labels", "priorityClassName"})
    if unknown:
        raise wrong(
            f"has the unknown field {unknown[0]}: write match.labels, match.priorityClassName, toLocalQueue, skip"
        )
    labels = match.get("labels") or {}
    named, queue = match.get("priorityClassName") or "", value.get("toLocalQueue") or ""
    if not is_object(labels) or not all(isinstance(one, str) for one in (*labels.values(), named, queue)):
        raise wrong("needs text for names and values of labels: put them into quotes")
    skip = value.get("skip") is True
    if bool(queue) is skip:
        raise wrong("needs one of toLocalQueue and skip: true")
    texts = {str(name): str(text) for name, text in labels.items()}
    return MappingRule(labels=texts, priority_class=str(named), to_local_queue=str(queue), skip=skip)


def _labels(text: str) -> dict[str, str]:
    found = key_values("--add-labels", text)
    taken = sorted(SET_LABELS & set(found))
    if taken:
        raise typer.BadParameter(f"--add-labels: {taken[0]} is set by the import itself")
    problems = labels_problems(found, "--add-labels")
    if problems:
        raise typer.BadParameter(f"{problems[0].field}: {problems[0].message}")
    return found


def _print(answer: PodsImported) -> None:
    for one in answer.pods:
        where = f"{one.queue} ({one.cluster_queue}, {', '.join(sorted(set(one.flavors.values())))})"
        console.print(f"{one.pod}: {one.problem or where}", highlight=False, markup=False)
    done = "nothing was written" if answer.dry_run else "they run on, and hold their quota"
    console.print(
        f"{len(answer.pods)} pods, {answer.failed} of them can't be brought in: {done}", highlight=False, markup=False
    )
