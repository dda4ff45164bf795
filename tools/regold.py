"""Regold: rewrites the golden files; review their difference afterwards: `python -m tools.regold`."""

from pytest_codexsandbox.reports import markdown
from tests.unit.commands.screen_builders import SCREENS
from tests.unit.reports import container_builders, generator_builders
from tests.unit.reports.test_terminal import GOLDEN, screen


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for kind, make in container_builders.KINDS.items():
        for width in (60, 80, 200):
            (GOLDEN / f"{kind}-{width}.txt").write_text(screen(make(), width=width, ascii=width == 60))
    for kind in ("green", "red", "blocked", "hostile"):
        (GOLDEN / f"{kind}.md").write_text(markdown.render(container_builders.KINDS[kind](), None))
    for kind, make in generator_builders.KINDS.items():
        (GOLDEN / f"generators-{kind}-80.txt").write_text(screen(make()))
        (GOLDEN / f"generators-{kind}.md").write_text(markdown.render(make(), None))
    for name, made in SCREENS.items():
        (GOLDEN.parent / "screens" / f"{name}.txt").write_text(made() + "\n")


if __name__ == "__main__":
    main()
