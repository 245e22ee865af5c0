"""JSON and YAML say the same, and neither breaks a long text."""

import json

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ops.terminal.form import AnswerForm, form_of, print_item

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


class Answer(msgspec.Struct):
    at: int
    rows: tuple[str, ...] = ()


@given(PLAIN)
def test_yaml_says_what_json_says(answer: object) -> None:
    assert yaml.safe_load(form_of(answer, AnswerForm.YAML)) == json.loads(form_of(answer, AnswerForm.JSON)) == answer


@pytest.mark.parametrize("form", [AnswerForm.JSON, AnswerForm.YAML])
def test_a_long_text_stays_on_its_line(form: AnswerForm) -> None:
    text = "insufficient unused quota " * 40
    assert any(text.strip() in line for line in form_of(Answer(at=1, rows=(text.strip(),)), form).splitlines())


def test_many_answers_are_lines_of_json_or_documents_of_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    for form in (AnswerForm.JSON, AnswerForm.YAML):
        for at in (1, 2):
            print_item(Answer(at=at), form)
    told = capsys.readouterr().out
    lines, _, documents = told.partition("---\n")
    assert [json.loads(line)["at"] for line in lines.splitlines()] == [1, 2]
    assert [one["at"] for one in yaml.safe_load_all(documents)] == [1, 2]
