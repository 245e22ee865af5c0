"""The commands that ask the log: replay, history, explain, whatif, `log show`; their arguments and options."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ops.cli.log_options import Archive, Bus, Data, LogSource, Workers
from ops.cli.object_names import names_of, namespaces, objects, streams
from ops.cli.questions.log_form import LogForm
from ops.cli.time_options import Scale
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output

console = terminal()


class Sort(StrEnum):
    """By what `kuelog top` orders workloads."""

    QUEUE = "queue"
    STARTS = "starts"
    CARDS = "cards"
    SINCE = "since"
    PRIORITY = "priority"
    JOB = "job"


Until = Annotated[
    str, typer.Option("--until", help="A sequence (17, DEVICES_default/3) or a time (2026-01-31T12:00:00Z, +90s).")
]


def replay(
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    until: Until = "",
    tree: Annotated[str, typer.Option(help="Only this tree of quota: a root cohort, or a queue without one.")] = "",
    show: Annotated[
        str, typer.Option(help="What to print: queues, workloads, usage, topology, clusters or state.")
    ] = "",
    verify: Annotated[bool, typer.Option(help="Decide every decision again and compare bytes.")] = False,
    rules: Annotated[
        list[str] | None,
        typer.Option(help="Decide under other rules: a checkout or wheel of kuelog, or FIELD=VALUE of the settings."),
    ] = None,
    snapshot: Annotated[
        Path | None, typer.Option(help="Begin at the snapshots in this folder, or at this one; else they are a help.")
    ] = None,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Fold the log to any point and print what was true; with --verify decide every decision again.

    With --rules: what other rules would have decided, decision by decision, each on the state that was recorded.

    Example: kuelog replay --data .kuelog/demo --verify

    Example: kuelog replay --until +30s --show queues

    Example: kuelog replay --rules gates.PartialAdmission=false --rules fair_sharing=true

    Example: kuelog replay --rules ../kuelog-next

    Example: kuelog replay --archive s3://bucket/kuelog --verify
    """
    source = LogSource(data=data, nats=nats, archive=archive)
    if rules:
        from ops.cli.questions.other_rules import run_other_rules  # noqa: PLC0415 - a command loads what it needs

        raise typer.Exit(run_other_rules(source, rules, until=until, output=output, console=console))
    from ops.cli.questions.replay import ReplayOptions, run_replay  # noqa: PLC0415

    question = ReplayOptions(
        until=until,
        tree=tree,
        show=show or ("usage" if tree else ""),
        verify=verify,
        snapshot=snapshot,
        kept=source.folder / "witness" / "snapshots" if source.folder is not None else None,
    )
    raise typer.Exit(run_replay(source, question, output=output, console=console))


def history(
    name: Annotated[
        str,
        typer.Argument(
            help="kind/name: job/ns/name, workload/ns/name, clusterqueue/name, node/name …", autocompletion=objects()
        ),
    ],
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    until: Until = "",
    everything: Annotated[bool, typer.Option("--all", help="Also its pods, and what the cluster shows of it.")] = False,
    worker: Workers = None,
    output: Output = AnswerForm.TEXT,
) -> None:
    """The life of an object, moment by moment, each with its place on the log, its cause and its trace.

    Example: kuelog history job/ai-research/sweep-b

    Example: kuelog history clusterqueue/research

    Example: kuelog history node/gpu-1 --archive s3://bucket/kuelog --nats nats://127.0.0.1:4222

    Example: kuelog history lab/training --worker east=nats://east:4222 --worker west=/mnt/west
    """
    from ops.cli.questions.history import run_history  # noqa: PLC0415

    source = LogSource(data=data, nats=nats, archive=archive)
    raise typer.Exit(
        run_history(
            name, source, until=until, everything=everything, output=output, console=console, workers=worker or ()
        )
    )


def explain(
    name: Annotated[
        str,
        typer.Argument(
            help="job/ns/name, workload/ns/name, clusterqueue/name or localqueue/ns/name.",
            autocompletion=objects("job", "workload", "clusterqueue", "localqueue"),
        ),
    ],
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    at: Annotated[str, typer.Option("--at", help="As of a time or sequence: 2026-01-31T12:00:00Z, +90s, 17.")] = "",
    as_namespace: Annotated[
        str, typer.Option(help="Leave out names from all namespaces but this one, as a tenant may see it.")
    ] = "",
    limit: Annotated[
        float, typer.Option(min=0, help="Seconds for which it is tried at most what would let it in.")
    ] = 10,
    worker: Workers = None,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Why a workload waits, in numbers, and what would let it in; why it had to stop, by whom, by which rule. Also of a queue.

    The first answer comes at once. What would let it in is tried with all the rules on the folded state and taken back, for so many seconds
    at most; nothing is changed by asking. Of a job that is sent to other clusters, the logs named by --worker go on where this one ends.

    Example: kuelog explain job/ai-research/sweep-b --at +35s

    Example: kuelog explain ai-research/sweep-b --as-namespace ai-research -o json

    Example: kuelog explain ai-research/sweep-b --at 2026-01-31T12:00:00Z --archive /mnt/archive

    Example: kuelog explain localqueue/ai-research/research-queue --at +35s

    Example: kuelog explain lab/training --worker east=nats://east:4222
    """
    from ops.cli.questions.explain import run_explain  # noqa: PLC0415

    source = LogSource(data=data, nats=nats, archive=archive)
    raise typer.Exit(
        run_explain(
            name,
            source,
            at=at,
            namespace=as_namespace,
            limit=limit,
            output=output,
            console=console,
            workers=worker or (),
        )
    )


def top(
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    at: Annotated[str, typer.Option("--at", help="As of a time or sequence: 2026-01-31T12:00:00Z, +90s, 17.")] = "",
    once: Annotated[bool, typer.Option("--once", help="Print it once; so it does into a pipe, too.")] = False,
    sort: Annotated[Sort, typer.Option(help="Which workloads come first.")] = Sort.QUEUE,
    reverse: Annotated[bool, typer.Option("--reverse", help="The other way round.")] = False,
    queue: Annotated[
        str, typer.Option("-q", "--queue", help="Only of this cluster queue.", autocompletion=names_of("clusterqueue"))
    ] = "",
    namespace: Annotated[
        str, typer.Option("-n", "--namespace", help="Only of this namespace.", autocompletion=namespaces)
    ] = "",
    scale: Scale = 1.0,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Who runs and who waits where, with which cards, and when those who wait may start; live on a terminal.

    Keys: q quits, arrows scroll, s changes the order, r reverses it. A start is a guess: nobody else comes, and jobs run as long as
    those of their queue and priority did.

    Example: kuelog top --nats nats://127.0.0.1:4222

    Example: kuelog top --at +30s

    Example: kuelog top --once -o yaml --sort starts
    """
    from ops.cli.questions.top import TopOptions, run_top  # noqa: PLC0415

    asked = TopOptions(
        at=at,
        once=once,
        sort=sort,
        reverse=reverse,
        cluster_queue=queue,
        namespace=namespace,
        scale=scale,
    )
    raise typer.Exit(run_top(LogSource(data=data, nats=nats, archive=archive), asked, output=output, console=console))


def whatif(
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    at: Annotated[
        str, typer.Option("--at", help="Where to fork: a time or sequence; the beginning, or now with --submit.")
    ] = "",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="KIND/NAME:PATH=VALUE, a field of its manifest; list items by name. Of a workload or job: spec.priority.",
            autocompletion=objects(),
        ),
    ] = None,
    file: Annotated[
        list[Path] | None, typer.Option("-f", "--file", help="Manifests to apply, or jobs to submit.")
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(help="KIND/NAME of an object that is not there, or card/UUID.", autocompletion=objects()),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option(help="node/NAME=COUNT: so many more nodes with its cards.", autocompletion=objects("node")),
    ] = None,
    rules: Annotated[list[str] | None, typer.Option(help="FIELD=VALUE of the settings.")] = None,
    submit: Annotated[
        bool, typer.Option("--submit", help="When would the jobs in -f run, where, at whose cost?")
    ] = False,
    hindsight: Annotated[
        bool, typer.Option("--hindsight", help="With --submit --at: go by what came later as well, as the log has it.")
    ] = False,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Fork the log, change it and run on with recorded arrivals and run times in virtual time; print the differences.

    Both runs are played, with the change and without it; the recorded waiting time stands beside them.

    Example: kuelog whatif --set 'clusterqueue/research:spec.resourceGroups[0].flavors[0].resources[0].nominalQuota=320'

    Example: kuelog whatif --remove clusterqueue/production --at +20s

    Example: kuelog whatif --more node/gpu-v100-1=2

    Example: kuelog whatif --submit -f job.yaml

    Example: kuelog whatif --remove clusterqueue/production --archive /mnt/archive
    """
    from ops.cli.questions.whatif import WhatIfOptions, run_whatif  # noqa: PLC0415

    asked = WhatIfOptions(
        at=at,
        settings=tuple(set_ or ()),
        files=tuple(file or ()),
        removed=tuple(remove or ()),
        rules=tuple(rules or ()),
        more=tuple(more or ()),
        submit=submit,
        hindsight=hindsight,
    )
    source = LogSource(data=data, nats=nats, archive=archive)
    raise typer.Exit(run_whatif(source, asked, output=output, console=console))


def log_show(
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    stream: Annotated[
        list[str] | None, typer.Option(help="FACTS, LOG_0, DEVICES_default or CONTROL.", autocompletion=streams)
    ] = None,
    subject: Annotated[str, typer.Option(help="A pattern, e.g. 'kuelog.log.0.admitter'.")] = "",
    type_: Annotated[list[str] | None, typer.Option("--type", help="A type of event, e.g. 'Preemption*'.")] = None,
    object_: Annotated[
        str,
        typer.Option(
            "--object", help="kind/name, e.g. clusterqueue/research or 'job/team/*'.", autocompletion=objects()
        ),
    ] = "",
    since: Annotated[str, typer.Option(help="Not before this time.")] = "",
    until: Until = "",
    last: Annotated[int, typer.Option(min=0, help="Only the last so many; 0: all.")] = 0,
    follow: Annotated[bool, typer.Option("--follow", help="What comes from now on, until Ctrl-C.")] = False,
    output: Annotated[LogForm, typer.Option("-o", "--output", help="text, json, yaml or cloudevents.")] = LogForm.TEXT,
) -> None:
    """What is stored, one event a line, in the order of time; with -o json or cloudevents a line of JSON each.

    Example: kuelog log show --type 'Preemption*' --since +20s

    Example: kuelog log show --since +20s -o cloudevents

    Example: kuelog log show --nats nats://127.0.0.1:4222 --follow --object clusterqueue/research

    Example: kuelog log show --archive s3://bucket/kuelog --last 20
    """
    from ops.cli.questions.log_show import Filter, run_log_show  # noqa: PLC0415

    wanted = Filter(
        streams=tuple(stream or ()),
        subject=subject,
        types=tuple(type_ or ()),
        object=object_,
        since=since,
        until=until,
        limit=last,
    )
    source = LogSource(data=data, nats=nats, archive=archive)
    raise typer.Exit(run_log_show(source, wanted, follow=follow, output=output, console=console))
