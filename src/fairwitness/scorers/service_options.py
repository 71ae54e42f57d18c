"""How a service is asked, as options that every audit of text scorers has in the same words."""

from dataclasses import dataclass, fields

from fairwitness.errors import InputError
from fairwitness.options import Options


@dataclass(frozen=True, kw_only=True)
class ServiceOptions(Options):
    """Each service takes what concerns it; scorers that run here take none of it."""

    qps: float | None = None
    """Requests a second that the service allows. Unset: PERSPECTIVE_API_QPS, else 1 for Perspective."""
    attributes: tuple[str, ...] = ()
    """Perspective's attributes; the first is the score."""
    languages: tuple[str, ...] = ("en",)
    """Languages of the texts, for Perspective."""
    allow_store: bool = False
    """Let Perspective keep the texts (doNotStore is sent otherwise)."""
    truncate: bool = False
    """Cut texts over Perspective's 20,480 bytes instead of leaving them unscored."""
    url: str = ""
    """Another address that speaks Perspective's language."""
    workers: int | None = None
    """Requests on their way at once. Unset: 16 for Perspective, 8 for OpenAI."""
    timeout_s: float = 30.0
    """Seconds to wait for an answer before asking again."""
    ask: str = "once"
    """A text that was on its way to a service when an earlier run was killed: once leaves it unscored, again asks once more."""


SERVICE_FIELDS = frozenset(field.name for field in fields(ServiceOptions))


def check_service(options: ServiceOptions) -> None:
    """Refuse what no service could be asked with, also where the scorer runs here and would not look at it."""
    if options.workers is not None and options.workers < 1:
        raise InputError(f"--workers is {options.workers}; at least 1 is needed.")
    if not 0 < options.timeout_s < float("inf"):
        raise InputError(f"--timeout_s is {options.timeout_s:g}; a number of seconds above 0 was expected.")
    if options.ask != ServiceOptions.ask:
        from fairwitness.models.service import check_ask

        check_ask(options.ask)
