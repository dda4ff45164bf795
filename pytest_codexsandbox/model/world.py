"""World: the folders of one call of a subject, and how placeholders become paths."""

import re

import msgspec

_PLACEHOLDER = re.compile(r"@([A-Z0-9_]+)@")


class World(msgspec.Struct, frozen=True, kw_only=True):
    id: str  # a word that is unique in the run; what lies in shared folders is named by it
    folder: str
    values: dict[str, str]  # placeholder name → value

    def fill(self, text: str, *, act: str = "") -> str:
        """Replaces placeholders. An unknown placeholder is an error and never stays in the text."""
        return _PLACEHOLDER.sub(lambda found: self._value(found[1], act), text)

    def _value(self, name: str, act: str) -> str:
        if name == "NAME":
            return f"tmp-{self.id}-{act or 'world'}"
        if name not in self.values:
            raise KeyError(f"unknown placeholder @{name}@")
        return self.values[name]
