"""The episode in other people's training tools. Each needs an extra of its own, and nothing else imports it."""

from amemgym.errors import UsageError


def missing(what: str, extra: str, error: ImportError) -> UsageError:
    """What to say where the package that an adapter is for is not installed."""
    return UsageError(f"{what} needs an extra ({error}): pip install 'amemgym[{extra}]'")
