"""What bringing a tool would cost, said at plan time. Nothing is started, asked or downloaded."""

import shutil
from pathlib import Path

from pytest_codexsandbox.generators.third_party.package import package_of
from pytest_codexsandbox.model.generator import Declaration
from pytest_codexsandbox.releases.download_estimate import Forecast
from pytest_codexsandbox.releases.pypi import command
from pytest_codexsandbox.releases.store import Store


def forecast_of(declaration: Declaration, cache: Path) -> Forecast:
    """`megabytes`: what it takes on the disk, as the declaration says. InputError where `install` names no package."""
    package = package_of(declaration)
    if package is None:
        return Forecast(cached=True)
    if package.source == "npm" and not shutil.which("node"):
        return Forecast(why_not="it needs node, which is not on PATH")
    if Store(cache).find(package.key, package.fits) is not None:
        return Forecast(source="cache", cached=True)
    if package.source == "npm" and not shutil.which("npm"):
        return Forecast(why_not="it is installed by npm, which is not on PATH")
    if package.source == "pypi" and not command():
        return Forecast(why_not="it is installed by pip, which is not here: python -m ensurepip")
    return Forecast(source=package.source, megabytes=declaration.megabytes)
