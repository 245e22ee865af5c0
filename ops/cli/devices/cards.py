"""`kuelog devices`: every card with its slices, what flavors offer, what is scattered, as of any time."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from events.timestamp import format_timestamp
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import read_log
from ops.production.cards_view import CardView, card_views, domain_capacities, flavor_offers, model_capacities, unwanted
from ops.production.claimed_view import DeviceRow, device_rows
from ops.queries.answers import cards_answer
from ops.queries.point import is_sequence, point_at
from ops.queries.time_travel import WorldAt, as_of, cards_at
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.table import FittingTable, TableColumn, number
from projections.devices.capacity.model_capacity import ModelCapacity
from projections.devices.capacity.offer import Offer
from projections.devices.registration.node_lock import waited_for
from projections.topology.placement.largest import DomainCards

_WIDTH, _UUID = 24, 18
_SIGNS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_COLOURS = ("green", "cyan", "magenta", "yellow", "blue", "bright_green", "bright_cyan", "bright_magenta")
_FREE, _OUT = ".", "x"


def run_devices(source: LogSource, *, at: str, node: str, model: str, output: AnswerForm, console: Console) -> int:
    """Print all of it; 1 when there are no cards or devices of a node or model that is named."""
    with known_failures() as outcome:
        moment = read_moment(source, at)
        cards = card_views(moment.world, node=node, model=model)
        claimable = [] if model else device_rows(moment.world, node=node)
        locks = [waited_for(moment.world, name, moment.at) for name in sorted(moment.world.node_locks)]
        offers, models = flavor_offers(moment.world), model_capacities(moment.world)
        if output is not AnswerForm.TEXT:
            print_answer(cards_answer(moment, node=node, model=model), output)
        elif not cards and not claimable:
            why = "" if node or model else ": no node has registered any (docs/devices.md)"
            console.print(f"no cards{_where(node, model)} as of {as_of(moment.at, moment.upto)}{why}")
        else:
            show_devices(claimable, console)
            show_cards(cards, console)
            if cards:
                show_models(models, console)
            show_domains(domain_capacities(moment.world), console)
            room = unwanted(moment.world)
            if room.cards:
                console.print(f"of it {room.memory} MiB on {room.cards} card(s) serve no request that waits")
            show_offers(offers, console)
            for lock in locks:
                console.print(lock, style="yellow", markup=False, highlight=False, soft_wrap=True)
            console.print(f"as of {as_of(moment.at, moment.upto)}", style="dim")
        outcome.code = 0 if cards or claimable or not (node or model) else 1
    return outcome.code


def run_metrics(source: LogSource, *, at: str, console: Console) -> int:
    """Print the metrics of all cards."""
    from ops.production.metrics.endpoint import exposition  # noqa: PLC0415 - who looks at cards needs no server of metrics

    with known_failures() as outcome:
        world = read_moment(source, at).world
        console.print(exposition(lambda: world).decode(), end="", markup=False, highlight=False, soft_wrap=True)
        outcome.code = 0
    return outcome.code


def read_moment(source: LogSource, at: str) -> WorldAt:
    """The accountant's world as it was at a time or a sequence (`at`), or as it is now. Raises the known failures."""
    entries = read_log(source)
    return cards_at(point_at(entries, at).entries) if is_sequence(at) else cards_at(entries, at)


def show_cards(cards: Sequence[CardView], console: Console) -> None:
    """A line per card with its memory as a bar, by node; then which sign stands for which holder."""
    holders = sorted({part.holder for card in cards for part in card.slices})
    signs = {holder: _SIGNS[index % len(_SIGNS)] for index, holder in enumerate(holders)}
    names = {card.card: short(card.card) if console.is_terminal else card.card for card in cards}
    name_width = max(map(len, names.values()))
    before = ""
    for card in cards:
        heading = f"{card.node}  {card.model}"
        if heading != before:
            console.print(Text(heading, style="bold"))
        before = heading
        line = Text(f" {card.index:>2} {names[card.card]:<{name_width}} [").append(picture(card, signs)).append("] ")
        line.append(f"{card.memory_used:>6}/{card.memory} MiB  {card.cores_used:>3}/{card.cores} cores  ")
        line.append(f"{card.slots_used}/{card.slots}")
        if card.state != "ok":
            line.append(f"  {card.state}", style="red")
        if card.returns_at is not None:
            line.append(f" until {format_timestamp(card.returns_at)}")
        console.print(line, soft_wrap=True)
    for holder, sign in signs.items():
        console.print(Text(f"  {sign} ", style=_colour(signs, holder)).append(holder, style="default"))


def short(uuid: str) -> str:
    """A card's UUID, cut to the length of a column; a pipe and JSON have all of it."""
    return uuid if len(uuid) <= _UUID else f"{uuid[: _UUID - 1]}…"


def picture(card: CardView, signs: dict[str, str], width: int = _WIDTH) -> Text:
    """The card's memory as a bar, a sign per holder; by slots where slices have no memory of their own."""
    by_slots = not any(part.memory for part in card.slices)
    total = max(card.slots if by_slots else card.memory, 1)
    drawn, so_far, at = Text(), 0, 0
    for part in card.slices:
        so_far += part.slots if by_slots else part.memory
        # At least one sign for everybody who is there, however little they have.
        end = min(max(so_far * width // total, at + 1), width)
        drawn.append(signs[part.holder] * (end - at), style=_colour(signs, part.holder))
        at = end
    return drawn.append((_FREE if card.state == "ok" else _OUT) * (width - at), style="dim")


def show_devices(found: Sequence[DeviceRow], console: Console) -> None:
    """A line per device of a ResourceSlice and holder."""
    if not found:
        return
    table = FittingTable(_DEVICE_COLUMNS, "Devices that pods claim")
    for one in found:
        place = (one.node or "several", one.driver, one.pool, one.device)
        state = Text(one.state, style="" if one.state == "ok" else "red")
        for holder in one.holders:
            words = (holder.resource or holder.device_class, holder.holder, ", ".join(holder.pods), holder.claim)
            table.add(*place, state, *words)
        if not one.holders:
            table.add(*place, state, "", "", "", "")
    console.print(table)


def show_models(models: Sequence[ModelCapacity], console: Console) -> None:
    """Free in sum beside the largest piece, by model; `together` are idle cards on one node, `cores` the most of one card."""
    table = FittingTable(_MODEL_COLUMNS, "Free MiB, and the largest request that still fits")
    for one in models:
        numbers = (one.registered.cards, one.free.cards, one.idle_together, one.free.memory)
        largest = (one.largest_memory, one.largest_cores, one.stranded.memory)
        table.add(one.model, *(str(number) for number in (*numbers, *largest)))
    console.print(table)


def show_domains(domains: Sequence[DomainCards], console: Console) -> None:
    """By flavor and level, the domain with most idle cards: what a job for whole cards in one domain can get at most."""
    if not domains:
        return
    table = FittingTable(_DOMAIN_COLUMNS, "The domain of each level with most idle cards")
    for one in domains:
        numbers = (one.domains, one.registered.cards, one.free.cards, one.free.memory)
        table.add(one.flavor, one.level, "/".join(one.values), *map(str, numbers))
    console.print(table)


def show_offers(offers: Sequence[Offer], console: Console) -> None:
    """What the cards of each flavor offer, beside its nominal quota."""
    if not offers:
        return
    table = FittingTable(_OFFER_COLUMNS, "What the cards of each flavor offer beside its quota")
    for one in offers:
        less = ", ".join(
            f"{amount} {what}"
            for amount, what in (
                (one.unhealthy, "out"),
                (one.absent, "absent"),
                (one.cordoned, "cordoned"),
                (one.unmanaged, "unmanaged"),
            )
            if amount
        )
        offered = Text(str(one.offered), style="red" if one.short else "")
        table.add(one.flavor, one.resource, str(one.nominal), offered, less)
    console.print(table)


def _colour(signs: dict[str, str], holder: str) -> str:
    return _COLOURS[list(signs).index(holder) % len(_COLOURS)]


def _where(node: str, model: str) -> str:
    return (f" on node {node}" if node else "") + (f" of model {model}" if model else "")


_MODEL_COLUMNS = (
    TableColumn("model"),
    number("cards", 3),
    number("idle", 1),
    number("together", 4),
    number("free"),
    number("largest"),
    number("cores", 2),
    number("stranded", 5),
)
_DEVICE_COLUMNS = (
    TableColumn("node"),
    TableColumn("driver", 3),
    TableColumn("pool", 5),
    TableColumn("device"),
    TableColumn("state", 1),
    TableColumn("counted as", 2),
    TableColumn("held by"),
    TableColumn("pods", 4),
    TableColumn("claim", 6),
)
_DOMAIN_COLUMNS = (
    TableColumn("flavor"),
    TableColumn("level"),
    TableColumn("domain"),
    number("of", 3),
    number("cards", 2),
    number("idle", 1),
    number("free MiB"),
)
_OFFER_COLUMNS = (
    TableColumn("flavor"),
    TableColumn("resource"),
    number("quota"),
    number("offered"),
    TableColumn("less", 1, right=True),
)
