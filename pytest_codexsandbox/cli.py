"""`codexsandbox`: the commands beside pytest."""


def main() -> int:
    return 0
