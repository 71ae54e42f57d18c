"""A server on this machine that behaves like Perspective on a bad day.

Quota per minute with 429, error bodies with `errorType`, slow answers, dropped connections, 5xx bursts, wrong JSON. It counts
what it received, so that a test can say whether a text was answered twice or the quota overrun. Scores are made from the text's
hash. Run it in a process of its own with `python -m tests.servers.perspective`; it prints its address.
"""

import hashlib
from urllib.parse import parse_qs, urlsplit

from tests.servers.faulty import COMMON, Faults, FaultyServer, Handler, serve_alone, serving

__all__ = ["KEY", "Faults", "PerspectiveServer", "score_of", "serving"]

KEY = "AIzaLocalTestKey_0123456789abcdefghijk"
LIMIT_BYTES = 20_480
LANGUAGES = {"en", "es", "de", "fr", "ko"}


class PerspectiveHandler(Handler):
    def key(self) -> str:
        return parse_qs(urlsplit(self.path).query).get("key", [self.headers.get("x-goog-api-key", "")])[0]

    def wrong_key(self, key: str) -> bool:
        if key != KEY:
            self.error(403, f"The caller does not have permission consumer key={key}", "PERMISSION_DENIED")
        return key != KEY

    def respond(self, body: dict) -> None:
        text = body["comment"]["text"]
        if wrong := _permanent(text, body):
            return self.error(400, wrong[1], "INVALID_ARGUMENT", {"errorType": wrong[0]})
        self.server.note_answer(text, body)
        scores = {
            name: {"summaryScore": {"value": score_of(text, name), "type": "PROBABILITY"}} for name in body["requestedAttributes"]
        }
        return self.send(200, {"attributeScores": scores, "languages": ["en"], "detectedLanguages": ["en"]})

    def misbehave(self, kind: str, body: dict) -> None:
        if kind == "wrong_json":
            self.send(200, {"attributeScores": {"TOXICITY": {"summaryScore": {"value": None}}}})
        elif kind == "no_scores":
            self.send(200, ["surprise"])
        else:
            super().misbehave(kind, body)

    def refuse(self, status: int) -> None:
        if status == 429:
            reason = {"reason": "RATE_LIMIT_EXCEEDED"}
            self.error(429, "Quota exceeded for quota metric 'Analysis requests'", "RESOURCE_EXHAUSTED", reason)
        else:
            self.error(status, "The service is currently unavailable.", "UNAVAILABLE")

    def error(self, status: int, message: str, name: str, detail: dict | None = None) -> None:
        details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", **detail}] if detail else []
        self.send(status, {"error": {"code": status, "message": message, "status": name, "details": details}})


class PerspectiveServer(FaultyServer):
    """The server; `url` is its endpoint. 5xx come up to three in a row."""

    handler = PerspectiveHandler
    kinds = (*COMMON, "wrong_json", "no_scores")

    def __init__(self, *, faults: Faults | None = None, **settings: object) -> None:
        super().__init__(faults=faults, **settings)
        self.faults.burst = 3

    @property
    def url(self) -> str:
        return f"{self.base}/v1alpha1/comments:analyze"


def score_of(text: str, attribute: str = "TOXICITY") -> float:
    """The score this server gives: a fixed number in [0, 1) made from the text."""
    return int.from_bytes(hashlib.blake2b(f"{attribute}|{text}".encode(), digest_size=6).digest(), "big") / 2**48


def _permanent(text: str, body: dict) -> tuple[str, str] | None:
    """The error type and message of a request that will never be answered."""
    languages = set(body.get("languages", ["en"]))
    if not text.strip():
        return "COMMENT_EMPTY", "Comment must be non-empty."
    if len(text.encode()) > LIMIT_BYTES:
        return "COMMENT_TOO_LONG", "Comment text too long."
    if not languages <= LANGUAGES:
        return "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE", f"Attribute TOXICITY does not support request languages: {languages}"
    if not body.get("requestedAttributes"):
        return "NO_REQUESTED_ATTRIBUTES", "No requested_attributes specified."
    return None


if __name__ == "__main__":
    serve_alone(PerspectiveServer)
