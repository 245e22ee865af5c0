"""Assignments as they are stored in a Workload's status, in slices of domains with what their values have in common.

Rule: docs/rules/topology.md#stored
"""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import msgspec

from events.api.topology import (
    ApiTopologyAssignment,
    DomainPodCounts,
    IndividualValues,
    LevelValues,
    TopologyAssignmentSlice,
)
from events.topology import TopologyAssignment, TopologyDomain
from projections.topology.domains.tree import HOSTNAME

MOST_SLICES = 1000
MOST_DOMAINS = 100_000
"""Of one slice."""

Domains = Sequence[TopologyDomain]


class BadAssignment(ValueError):
    """A stored assignment contradicts itself; the message names the slice and the field."""


def stored(assignment: TopologyAssignment, *, hostname_prefixes: bool) -> ApiTopologyAssignment:
    """The form in which the assignment is written; with `hostname_prefixes` hosts are sliced by how their names begin."""
    domains = assignment.domains
    if not domains:
        return ApiTopologyAssignment(levels=assignment.levels, slices=())
    runs: list[Domains] = [domains]
    if hostname_prefixes and len(domains) > 1 and assignment.levels[-1] == HOSTNAME:
        runs = _runs(domains)
    slices = tuple(_slice(run) for run in runs)
    if len(slices) > 1 and len(domains) <= MOST_DOMAINS:
        whole = (_slice(domains),)
        slices = whole if len(msgspec.json.encode(whole)) < len(msgspec.json.encode(slices)) else slices
    return ApiTopologyAssignment(levels=assignment.levels, slices=slices)


def read_assignment(value: ApiTopologyAssignment) -> TopologyAssignment:
    """The domains of a stored assignment, slice by slice. Raises `BadAssignment`."""
    domains: list[TopologyDomain] = []
    for index, one in enumerate(value.slices):
        where = f"slices[{index}]"
        if len(one.values_per_level) != len(value.levels):
            raise BadAssignment(f"{where}.valuesPerLevel: {len(one.values_per_level)} for {len(value.levels)} levels")
        columns = [
            _values(column, one.domain_count, f"{where}.valuesPerLevel[{level}]")
            for level, column in enumerate(one.values_per_level)
        ]
        counts = _counts(one.pod_counts, one.domain_count, f"{where}.podCounts")
        domains += [
            TopologyDomain(values=values, count=count)
            for values, count in zip(zip(*columns, strict=True), counts, strict=True)
        ]
    return TopologyAssignment(levels=value.levels, domains=tuple(domains))


def _values(column: LevelValues, count: int, where: str) -> Sequence[str]:
    individual = column.individual
    if column.universal is not None and individual is None:
        return [column.universal] * count
    if individual is None or column.universal is not None:
        raise BadAssignment(f"{where}: write either universal or individual")
    if len(individual.roots) != count:
        raise BadAssignment(f"{where}.individual.roots: {len(individual.roots)} for {count} domains")
    return [f"{individual.prefix or ''}{root}{individual.suffix or ''}" for root in individual.roots]


def _counts(column: DomainPodCounts, count: int, where: str) -> Sequence[int]:
    if column.universal is not None and column.individual is None:
        return [column.universal] * count
    if column.individual is None or column.universal is not None:
        raise BadAssignment(f"{where}: write either universal or individual")
    if len(column.individual) != count:
        raise BadAssignment(f"{where}.individual: {len(column.individual)} for {count} domains")
    return column.individual


def _slice(domains: Domains) -> TopologyAssignmentSlice:
    counts = tuple(domain.count for domain in domains)
    same = len(set(counts)) == 1
    return TopologyAssignmentSlice(
        domain_count=len(domains),
        values_per_level=tuple(_level(values) for values in zip(*(domain.values for domain in domains), strict=True)),
        pod_counts=DomainPodCounts(universal=counts[0]) if same else DomainPodCounts(individual=counts),
    )


def _level(values: Sequence[str]) -> LevelValues:
    if len(set(values)) == 1:
        return LevelValues(universal=values[0])
    end = _common([value[::-1] for value in values])
    begin = min(_common(values), min(len(value) for value in values) - end)
    return LevelValues(
        individual=IndividualValues(
            prefix=values[0][:begin] or None,
            suffix=values[0][len(values[0]) - end :] or None,
            roots=tuple(value[begin : len(value) - end] for value in values),
        )
    )


def _common(values: Sequence[str]) -> int:
    """With how many letters all values begin alike."""
    first, last = min(values), max(values)
    return next((place for place, letter in enumerate(first) if letter != last[place : place + 1]), len(first))


def _runs(domains: Domains) -> list[Domains]:
    """Domains next to each other whose hostnames begin alike, up to as many dashes as leave few enough runs."""
    beginnings = [_beginnings(domain.values[-1]) for domain in domains]
    found = Counter(beginning for each in beginnings for beginning in each)
    for depth in range(max(len(each) for each in beginnings), 0, -1):
        keys = [next((one for one in reversed(each[:depth]) if found[one] > 1), "") for each in beginnings]
        runs = _cut(domains, keys)
        if len(runs) <= MOST_SLICES:
            return runs
    return [domains]


def _beginnings(hostname: str) -> list[str]:
    """The parts of a hostname up to each dash, but for one at its very end."""
    return list(accumulate(hostname[:-1].split("-")[:-1], "{}-{}".format))


def _cut(domains: Domains, keys: Sequence[str]) -> list[Domains]:
    runs: list[Domains] = []
    start = 0
    for place in range(1, len(domains) + 1):
        if place == len(domains) or keys[place] != keys[start] or place - start == MOST_DOMAINS:
            runs.append(domains[start:place])
            start = place
    return runs
