"""`python -m ops.production.deploy`: write the chart, the plain manifests, alerts and boards beside this file."""

from pathlib import Path

from ops.files.yaml_text import yaml_text
from ops.production.deploy.chart import HEAD, chart_files, for_operator, manifest_files
from ops.production.deploy.monitoring import monitoring_files

FOLDER = Path(__file__).parent


def folders() -> dict[str, dict[str, str]]:
    """By folder, each file's text by its path there."""
    return {
        "chart": chart_files(),
        "manifests": manifest_files(),
        "alerts_and_boards": {**monitoring_files(), "operator.yaml": HEAD + yaml_text(for_operator())},
    }


def main() -> None:
    """Write everything."""
    for folder, files in folders().items():
        for name, text in files.items():
            path = FOLDER / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(FOLDER.parent.parent))


if __name__ == "__main__":
    main()
