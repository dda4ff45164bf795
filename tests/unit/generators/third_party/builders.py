"""npm and pip, scripted: what they would have installed, or how they would have failed."""

import json
from collections.abc import Callable
from pathlib import Path

from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.generator import Declaration

TOOL = Declaration(
    name="tool",
    run="cmd:tool add demo --to @CONFIG@",
    install={"npm": "@some/tool==1.2.3"},
    megabytes=1,
    env={"A": "b"},
)
WHEEL = Declaration(name="wheel", run='launch:python -c "import tool"', install={"pypi": "some-tool==2.0"})


class Npm:
    """Installs a package with one program, as `npm install` and `npm ci` do."""

    def __init__(self, *, bins: object = None, then: Callable[[Path], None] = lambda place: None) -> None:
        self.asked: list[Command] = []
        self.bins = {"tool": "dist/tool.js"} if bins is None else bins
        self.then = then

    def __call__(self, command: Command) -> CommandResult:
        self.asked.append(command)
        home = Path(command.cwd) / "node_modules/@some/tool"
        (home / "dist").mkdir(parents=True)
        (home / "dist/tool.js").write_text("console.log('tool')\n")
        (home / "package.json").write_text(json.dumps({"name": "@some/tool", "bin": self.bins}))
        Path(command.env["npm_config_cache"]).mkdir(parents=True)
        (Path(command.env["npm_config_cache"]) / "kept").write_text("npm's own")
        self.then(Path(command.cwd))
        return CommandResult(ended="exit")


class Pip:
    """Installs a wheel with one program and its metadata, as `pip install --target` does."""

    def __init__(self) -> None:
        self.asked: list[Command] = []

    def __call__(self, command: Command) -> CommandResult:
        self.asked.append(command)
        if "install" in command.argv:
            place = Path(command.argv[command.argv.index("--target") + 1])
            info = place / "some_tool-2.0.dist-info"
            for folder in (place / "bin", info):
                folder.mkdir()
            (place / "tool.py").write_text("print('tool')\n")
            (place / "bin/some-tool").write_text("#!/usr/bin/python3\n")
            (place / "bin/of-another").write_text("#!/usr/bin/python3\n")
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-tool\nVersion: 2.0\n")
            (info / "entry_points.txt").write_text("[console_scripts]\nsome-tool = tool:main\n")
        return CommandResult(ended="exit")


class Fails:
    """Writes half of something, then fails in the way that is asked for."""

    def __init__(self, **how: object) -> None:
        self.how = how

    def __call__(self, command: Command) -> CommandResult:
        (Path(command.cwd) / "half").write_text("half")
        return CommandResult(**{"ended": "exit", "exit": 1, **self.how})  # type: ignore[arg-type]


def npm_error(code: str, summary: str) -> bytes:
    return json.dumps({"error": {"code": code, "summary": summary, "detail": ""}}).encode()


def everything_below(cache: Path) -> list[str]:
    """But locks, whose files stay for good."""
    files = (path.relative_to(cache) for path in cache.rglob("*") if path.is_file())
    return sorted(str(path) for path in files if path.parts[0] != "locks")
