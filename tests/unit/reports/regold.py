"""Write the golden files anew, then read the difference: `python -m tests.unit.reports.regold`."""

from pytest_codexsandbox.reports import markdown
from tests.unit.reports import wide
from tests.unit.reports.test_terminal import GOLDEN, screen


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for kind, make in wide.KINDS.items():
        for width in (60, 80, 200):
            (GOLDEN / f"{kind}-{width}.txt").write_text(screen(make(), width=width, ascii=width == 60))
    for kind in ("green", "red", "blocked", "hostile"):
        (GOLDEN / f"{kind}.md").write_text(markdown.render(wide.KINDS[kind](), None))


if __name__ == "__main__":
    main()
