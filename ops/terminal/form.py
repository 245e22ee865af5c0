"""The forms of an answer: text for people, JSON and YAML for programs. Every command that has one has all three."""

from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from ops.files.yaml_text import yaml_text


class AnswerForm(StrEnum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


Output = Annotated[AnswerForm, typer.Option("-o", "--output", help="text, json or yaml.")]


def form_of(answer: object, form: AnswerForm) -> str:
    """An answer as the text of a program's form: indented JSON, or YAML that says the same."""
    encoded = msgspec.json.encode(answer)
    if form is AnswerForm.YAML:
        return yaml_text([msgspec.json.decode(encoded)], width=_ONE_LINE)
    return msgspec.json.format(encoded).decode() + "\n"


def print_answer(answer: object, form: AnswerForm) -> None:
    """Print an answer for a program."""
    print(form_of(answer, form), end="")  # noqa: T201 - for programs


def print_item(item: object, form: AnswerForm) -> None:
    """Print one of many answers as they come: a line of JSON, or a document of YAML."""
    text = f"---\n{form_of(item, form)}" if form is AnswerForm.YAML else msgspec.json.encode(item).decode() + "\n"
    print(text, end="", flush=True)  # noqa: T201 - for programs


_ONE_LINE = 1 << 30
"""Columns; YAML would else break long texts, and `grep` find half of them."""
