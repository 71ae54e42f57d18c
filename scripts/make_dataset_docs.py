"""Write the cards into docs/datasets.md, behind its hand-written beginning. A test compares the two."""

from pathlib import Path

from fairwitness import registry
from fairwitness.datasets.card_page import page
from fairwitness.datasets.download import find

PATH = Path(__file__).parents[1] / "docs" / "datasets.md"
MARK = "<!-- Below: the cards, written by scripts/make_dataset_docs.py -->\n"


def main() -> None:
    beginning = PATH.read_text(encoding="utf-8").partition(MARK)[0]
    cards = "\n".join(page(find(name).card) for name in registry.names("datasets"))
    PATH.write_text(f"{beginning}{MARK}\n{cards}", encoding="utf-8")
    print(f"Wrote {len(registry.names('datasets'))} cards -> {PATH}")


if __name__ == "__main__":
    main()
