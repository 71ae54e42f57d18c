"""Asking every source whether it still answers: politely, briefly, all at once. A dead source is a finding, not a failure."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

from fairwitness import registry
from fairwitness.datasets import hub, web
from fairwitness.datasets.card import BuiltIn, Card, HubFiles, Manual, Remote, WebFiles
from fairwitness.datasets.download import find

ANSWERS, DEAD, UNREACHABLE, MANUAL, BUILT_IN, NOT_ASKED = (
    "answers",
    "dead",
    "unreachable",
    "needs manual download",
    "built in",
    "not asked",
)


@dataclass(frozen=True)
class Finding:
    """What one source of one dataset said."""

    dataset: str
    source: str
    state: str
    detail: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine(names: tuple[str, ...] = (), *, timeout_s: float = 5.0) -> list[Finding]:
    """Ask every source of the named datasets, or of all. Never raises for a source that does not answer."""
    cards = [find(name).card for name in names or registry.names("datasets")]
    pairs = [(card, remote) for card in cards for remote in card.remotes]
    with ThreadPoolExecutor(max_workers=8) as pool:
        asked = list(pool.map(lambda pair: _ask(pair[0], pair[1], timeout_s), pairs))
    known = [Finding(card.name, address, DEAD, why) for card in cards for address, why in card.dead.items()]
    order = [card.name for card in cards]
    return sorted([*asked, *known], key=lambda finding: order.index(finding.dataset))


def _ask(card: Card, remote: Remote, timeout_s: float) -> Finding:
    match remote:
        case BuiltIn():
            state, detail = BUILT_IN, "inside the package"
        case Manual():
            state, detail = MANUAL, remote.how
        case HubFiles():
            if hub.offline():
                state, detail = NOT_ASKED, "HF_HUB_OFFLINE is set"
            else:
                path = f"{hub.endpoint()}/api/datasets/{remote.repo}/revision/{quote(remote.revision, safe='')}"
                state, detail = _knock(path, timeout_s, _token())
        case WebFiles():
            state, detail = _knock(remote.address, timeout_s, {})
    return Finding(card.name, remote.address, state, detail)


def _token() -> dict[str, str]:
    from huggingface_hub import get_token

    token = get_token()
    return {"Authorization": f"Bearer {token}"} if token else {}


def _knock(url: str, timeout_s: float, headers: dict[str, str]) -> tuple[str, str]:
    """Ask for one byte, and read none: some servers do not answer HEAD."""
    import httpx2

    try:
        with (
            httpx2.Client(headers=web.HEADERS | headers, follow_redirects=True, timeout=timeout_s) as client,
            client.stream("GET", url, headers={"Range": "bytes=0-0"}) as response,
        ):
            if response.status_code < 400:
                return ANSWERS, f"HTTP {response.status_code}"
            if response.status_code in (401, 403) and headers == {} and "/api/datasets/" in url:
                return MANUAL, f"HTTP {response.status_code}: accept its terms and set HF_TOKEN"
            return DEAD, f"HTTP {response.status_code}"
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return UNREACHABLE, f"no answer ({type(error).__name__})"
