"""Option defaults: values that pytest's options and the commands of `codexsandbox` share. Imports nothing."""

from typing import Final

DEFAULT_PRESET: Final = "local"
REPORT_DIR: Final = ".codexsandbox"
EMPTY_VALUE: Final = "empty value (unset shell variable?)"
