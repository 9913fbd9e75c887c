"""Every error a user can meet, as a flat list of named classes.

Each message names the thing, the place and the way out. `exit_code` is what the command line ends with: 2 where the
call or the data is wrong, 1 where a run could not go on, 130 where it was interrupted. Whatever was finished before
an error stays on disk.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class AMemGymError(Exception):
    """Anything this package says on purpose."""

    exit_code = 1


class UsageError(AMemGymError):
    """A flag, a name or a configuration is wrong."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that nothing is registered under; the message lists the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        names = list(known)
        near = [] if name in names else difflib.get_close_matches(name, names, n=1, cutoff=0.6)
        guess = f" Did you mean '{near[0]}'?" if near else ""
        said = f"unknown {kind} '{name}'.{guess} Known: {', '.join(names)}.{' ' + hint if hint else ''}"
        # names may come from a file: none moves the cursor of a terminal
        super().__init__("".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in said))


class MissingPackage(UsageError, ImportError):
    """A package that an extra brings is not installed; also an ImportError, as for any other import."""


class DataError(AMemGymError):
    """A data set cannot be found, read or run."""

    exit_code = 2


class ResultNotFound(DataError, KeyError):
    """A results archive has no group for a cell; also a KeyError, as other readers of such archives raise."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would show it in quotes


class ResultUndecided(DataError):
    """A results archive has several runs of a cell, and the rule cannot say which of them counts."""


class ResultFileMissing(DataError, FileNotFoundError):
    """A group of a results archive lacks a file, listed or not."""


class RunDirectoryError(AMemGymError):
    """A run directory holds another run, is in use, or is no run directory."""

    exit_code = 2


class StorageError(AMemGymError):
    """The disk refused a write (full, or no permission)."""


class Interrupted(AMemGymError):
    """A run was interrupted from the keyboard."""

    exit_code = 130  # what shells say of it


class ClusterFailed(AMemGymError):
    """A cluster cannot be reached, or its processes end again and again."""


class RunFailed(AMemGymError):
    """Some episodes of a run, or users of a generation, did not finish; the others did and are kept. `report` has what
    is finished."""

    def __init__(self, message: str, report: object = None) -> None:
        super().__init__(message)
        self.report = report


class GenerationFailed(AMemGymError):
    """A stage of one user's generation had faults after its last repair; the other users go on.

    `places` are those of the stages that failed, as in the journal's addresses.
    """

    def __init__(self, user: str, stage: str, faults: Iterable[str], places: Iterable[str] = ()) -> None:
        told = list(faults)
        more = f" (and {len(told) - 3} more)" if len(told) > 3 else ""
        super().__init__(f"{user}, {stage}: {'; '.join(told[:3])}{more}")
        self.places = tuple(places)


class AgentFailed(AMemGymError):
    """Code from elsewhere raised; its episode ends, the others go on. `boundary` says where: `memory`, where a memory's
    own code did, else `agent`."""

    def __init__(self, message: str, boundary: str = "agent") -> None:
        super().__init__(message)
        self.boundary = boundary


class EpisodeTimeout(AMemGymError):
    """An episode took longer than it may; it ends, the others go on, and a resume plays it on."""


class MemoryFailed(AMemGymError):
    """A memory's own code raised while it wrote, read, or was copied; whoever plays says in which episode."""


class ModelError(AMemGymError):
    """A call to a model ended without a usable reply."""

    #: kept in the journal under this name where the same request would end the same way again


class FatalModelError(ModelError):
    """No later call can pass either: the whole run stops."""


class AuthenticationFailed(FatalModelError):
    """401 or 403."""


class QuotaExhausted(FatalModelError):
    """The account's money or quota is used up."""


class BadRequest(FatalModelError):
    """The endpoint refuses the request for a reason that no retry mends (an unknown model, a wrong path)."""


class NotAnEndpoint(FatalModelError):
    """The address answers, but not with chat completions."""


class RequestRefused(ModelError):
    """The endpoint answered other requests, but refuses this one; its episode ends, the others go on."""


class BudgetSpent(FatalModelError):
    """The budget has no room for the next call, and none is under way; every reply that was paid for is kept."""


class EndpointUnavailable(ModelError):
    """Connection refused, time-outs, 408, 409, 429 or 5xx: the same call may pass later.

    `retry_after` is the wait in seconds that the endpoint asked for, if it did; `status` is what it answered with, None
    where no answer came. `silence` names the time without any answer in which a call used up its tries: what failed in
    the one in which the endpoint was found to be down failed by that.
    """

    def __init__(self, message: str, retry_after: float | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.status = status
        self.silence: tuple[str, int] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether it is there and asks to be asked less (429, or any Retry-After)."""
        return self.status == 429 or self.retry_after is not None

    @property
    def is_answer(self) -> bool:
        """Whether the endpoint is there: it said something, if not what was wanted."""
        return self.is_busy or (self.status is not None and self.status < 500)


class EndpointDown(FatalModelError, EndpointUnavailable):
    """No call to the endpoint got an answer, whichever it was and however often: what needs it stops, to be resumed."""


class ContextOverflow(ModelError):
    """The request is longer than the model's context."""


class ContentFiltered(ModelError):
    """The provider's filter stopped the request or the reply."""


class NoContent(ModelError):
    """The model answered without any text; `usage` is what that cost, and `finish` why it stopped."""

    def __init__(self, message: str, usage: object = None, finish: str = "") -> None:
        super().__init__(message)
        self.usage = usage
        self.finish = finish


#: errors that belong to one request and are kept in the journal as its outcome, by the name they have there
REQUEST_ERRORS: dict[str, type[ModelError]] = {"context_overflow": ContextOverflow, "content_filter": ContentFiltered}


def raised(error: BaseException) -> str:
    """An exception as a phrase: its type, what it says, and the file and line it came from."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f" (at {Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno})" if frame else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"
