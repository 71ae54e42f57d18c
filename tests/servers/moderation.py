"""A server on this machine that answers like OpenAI's moderation endpoint."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.faulty import FaultyServer, Handler, serving


class ModerationHandler(Handler):
    def wrong_key(self, key: str) -> bool:
        wrong = key != "sk-test-key-0123456789"
        if wrong:
            self.send(401, {"error": {"message": f"Incorrect API key provided: {key}", "code": "invalid_api_key"}})
        return wrong

    def respond(self, body: dict) -> None:
        scores = {"hate": len(body["input"]) % 10 / 10, "harassment": 0.05}
        self.send(200, {"model": "omni-2024-09-26", "results": [{"category_scores": scores}]})


class ModerationServer(FaultyServer):
    handler = ModerationHandler


@contextmanager
def serving_moderation() -> Iterator[str]:
    with serving(ModerationServer()) as server:
        yield f"{server.base}/v1"
