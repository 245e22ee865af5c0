"""The report of a month as pages: HTML from a template that escapes, and PDF."""

from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF
from fpdf.fonts import FontFace
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ops.queries.billing.month_report import MonthReport, ReportSection, period_of

_TEMPLATES = Path(__file__).parent / "templates"
_SOUND = "The audit finds nothing, both books agree, and all is priced."
_UNSOUND = "Something has to be explained: see Exceptions."
_FONT, _LATIN = "Helvetica", "latin-1"
_INK, _GREY, _LINE, _GOOD, _BAD = (22, 32, 42), (74, 87, 99), (200, 207, 214), (20, 96, 47), (155, 28, 28)
_LEAST, _LONGEST = 6, 42
"""So wide a column is at least and at most, in letters."""


def html(report: MonthReport) -> str:
    """The report as one page of HTML that needs nothing else."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    page = environment.get_template("month_report.html")
    return page.render(report=report, period=period_of(report), verdict=_SOUND if report.sound else _UNSOUND)


def pdf(report: MonthReport) -> bytes:
    """The report as PDF on A4, across; letters that its fonts don't have are shown as a question mark."""
    pages = _Pages(report)
    pages.add_page()
    pages.line_of(f"Report of {report.month}", size=18, style="B")
    pages.line_of(f"{period_of(report)}, times in UTC", size=9, ink=_GREY)
    pages.line_of(report.standing, size=11, style="B")
    pages.line_of(_SOUND if report.sound else _UNSOUND, size=10, ink=_GOOD if report.sound else _BAD)
    for section in report.sections:
        pages.section(section)
    return bytes(pages.output())


class _Pages(FPDF):
    def __init__(self, report: MonthReport) -> None:
        super().__init__(orientation="landscape", format="A4")
        self._month = report.month
        self.set_title(f"kuelog: report of {report.month}")
        # Not that of its making: the same report is the same file.
        self.set_creation_date(datetime.fromtimestamp(report.until // 1000, UTC))
        self.set_auto_page_break(auto=True, margin=15)

    def footer(self) -> None:
        """The foot of each page."""
        self.set_y(-12)
        self.set_font(_FONT, size=8)
        self.set_text_color(*_GREY)
        self.cell(0, 6, f"kuelog, report of {self._month}, page {self.page_no()}", align="C")

    def line_of(self, text: str, *, size: int, style: str = "", ink: tuple[int, int, int] = _INK) -> None:
        """A line of its own."""
        self.set_font(_FONT, style=style, size=size)  # type: ignore[arg-type]
        self.set_text_color(*ink)
        self.multi_cell(0, size * 0.5, _latin(text), new_x="LMARGIN", new_y="NEXT")

    def section(self, section: ReportSection) -> None:
        """A heading, and its table."""
        self.ln(4)
        if self.will_page_break(24):
            self.add_page()
        self.line_of(section.title, size=12, style="B")
        self.ln(1)
        if not section.rows:
            self.line_of(section.none, size=9, ink=_GREY)
            return
        self.set_font(_FONT, size=8)
        self.set_text_color(*_INK)
        self.set_draw_color(*_LINE)
        heads = FontFace(emphasis="BOLD", color=_INK)
        with self.table(
            borders_layout="HORIZONTAL_LINES",
            col_widths=_widths(section),
            headings_style=heads,
            line_height=4.4,
            padding=(0.6, 1.2),
            text_align="LEFT",
            wrapmode="CHAR" if section.title in ("Proofs", "Approvals") else "WORD",
        ) as table:
            for row in (section.columns, *section.rows):
                cells = table.row()
                for text in row:
                    cells.cell(_latin(text))


def _widths(section: ReportSection) -> tuple[int, ...]:
    """Each column as wide as its longest text, within bounds."""
    columns = zip(section.columns, *section.rows, strict=True)
    return tuple(min(max(_LEAST, *(len(text) for text in column)), _LONGEST) for column in columns)


def _latin(text: str) -> str:
    return text.encode(_LATIN, "replace").decode(_LATIN)
