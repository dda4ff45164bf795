"""What is started as a file finds its neighbours beside it: so do tests, whichever of them are run."""

import sys
from pathlib import Path

from pytest_codexsandbox import guest

sys.path.append(str(Path(guest.__file__).parent))
