"""What Frazil tells about its verbs: log records, reports for functions of the user, spans and metrics, and bars.

`verbs` lists the verbs, and `seam` is the one place through which their calls pass. Nothing else is loaded until
somebody listens.
"""

from frazil.observing.listeners import Registration, on_report
from frazil.observing.seam import call, failed, failure_of_stream, is_watched, observed, retried, stream
from frazil.observing.showing import progress
from frazil.observing.verbs import Verb, verb_of

__all__ = [
    "Registration",
    "Verb",
    "call",
    "failed",
    "failure_of_stream",
    "is_watched",
    "observed",
    "on_report",
    "progress",
    "retried",
    "stream",
    "verb_of",
]
