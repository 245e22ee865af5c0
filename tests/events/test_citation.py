"""The text by which one log cites a commit of another."""

import pytest

from events.citation import CitedCommit, citation_text, cited_in

HASH = "0123456789abcdef" * 4


def test_what_is_cited_is_read_as_it_was_written() -> None:
    cited = CitedCommit(stream="LOG_0", sequence=17, sha256=HASH)
    assert cited_in(citation_text(cited)) == cited


@pytest.mark.parametrize(
    "text",
    [
        "",
        "LOG_0/17",
        f"LOG_0/0/{HASH}",
        f"LOG_0/-1/{HASH}",
        f"LOG_0/17/{HASH[1:]}",
        f"LOG_0/17/{HASH.upper()}",
        f"LOG_0/17/{HASH}\n",
        f"LOG_0/{'9' * 40}/{HASH}",
        f"a b/17/{HASH}",
    ],
)
def test_what_is_no_citation_cites_nothing(text: str) -> None:
    assert cited_in(text) is None
