"""A server on this machine that generates text on a bad day: 429, 5xx, timeouts, cut JSON, empty and repeated drafts.

It speaks OpenAI's completions and chat, HyperCLOVA (which echoes the prompt) and CLOVA Studio, told apart by the address. It counts
what it answered by prompt and sampling, so that a test can say whether something was paid for twice.
"""

import hashlib
import json
from collections.abc import Callable

from tests.servers.faulty import COMMON, Faults, FaultyServer, Handler, serve_alone, serving

__all__ = ["KEY", "Faults", "GenerationServer", "serving", "unique"]

KEY = "sk-local-test-key-0123456789abcdef"


class GenerationHandler(Handler):
    server: "GenerationServer"

    def key(self) -> str:
        return self.headers.get("x-clova-client-id") or super().key()

    def wrong_key(self, key: str) -> bool:
        if key in ("", KEY):
            return False
        self.send(401, {"error": {"message": f"Incorrect API key provided: {key}", "type": "invalid_request_error"}})
        return True

    def respond(self, body: dict) -> None:
        prompt = body.get("prompt") or body.get("text") or body["messages"][-1]["content"]
        number = self.server.note_answer(json.dumps(body, sort_keys=True), body)
        text = self.server.write(number, prompt, body)
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4}
        if self.path.endswith("/chat/completions"):
            self.send(200, {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage})
        elif self.path.endswith("/completions"):
            self.send(200, {"choices": [{"text": text}], "usage": usage})
        elif "messages" in body:
            result = {"message": {"content": text}, "inputLength": 1, "outputLength": 2}
            self.send(200, {"status": {"code": "20000"}, "result": result})
        else:
            self.send(200, {"text": prompt + text})

    def misbehave(self, kind: str, body: dict) -> None:
        if kind == "no_text":
            self.send(200, {"choices": []})
        else:
            super().misbehave(kind, body)


def unique(_number: int, prompt: str, body: dict) -> str:
    """A text of its own for every prompt and sampling, the same whenever it is asked."""
    digest = hashlib.blake2b(f"{prompt}|{body.get('temperature')}".encode(), digest_size=12).hexdigest()
    return " " + " ".join(digest[start : start + 4] for start in range(0, 24, 4))


class GenerationServer(FaultyServer):
    """`write(number, prompt, body)` is the completion of the answer with that number (0 first)."""

    handler = GenerationHandler
    kinds = (*COMMON, "no_text")

    def __init__(self, write: Callable[[int, str, dict], str] = unique, **settings: object) -> None:
        super().__init__(**settings)
        self.write = write


if __name__ == "__main__":
    # Not "slow": that is an answer, and one that a waiting client pays for twice.
    serve_alone(GenerationServer, ("429", "500", "503", "drop", "cut", "not_json", "no_text"))
