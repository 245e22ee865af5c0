"""`python -m ops.production.metrics`: write docs/metrics.md."""

from pathlib import Path

from ops.production.metrics.page import page

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
