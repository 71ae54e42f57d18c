"""Text from a Hugging Face model in this process, in the same shape as from a service: talks in, results out, answers kept on disk.

Every request samples with its own temperature, top-p and random numbers, drawn from the hash of the request. So a draft depends
neither on the batch it was made in nor on what was drafted before it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from transformers import LogitsProcessorList, StoppingCriteriaList

from fairwitness.models.answer_cache import AnswerCache, answer_name
from fairwitness.models.generation import Prompt, completion
from fairwitness.models.ledger import Ledger, Usage
from fairwitness.models.service import Answer, Request, Result, Talk


class LocalGenerator:
    """A causal language model as a generator. The model is loaded when the first draft is not in the cache."""

    def __init__(self, model: str, *, cache: AnswerCache | None = None, batch_size: int = 16) -> None:
        self.model_name, self.cache, self.batch_size = model, cache, batch_size
        self.ledger = Ledger()
        self._parts: Any = None

    def __enter__(self) -> "LocalGenerator":
        return self

    def __exit__(self, *_failure: object) -> None:
        self._parts = None

    @property
    def identity(self) -> dict[str, Any]:
        """What a draft depends on besides its prompt."""
        return {"service": "local", "model": self.model_name}

    def request(self, prompt: Prompt) -> Request:
        """The request for a prompt."""
        body = {
            "prompt": prompt.text,
            "max_tokens": prompt.max_tokens,
            "temperature": prompt.temperature,
            "top_p": prompt.top_p,
            "stop": list(prompt.stop),
        }
        return Request(body, prompt.sample)

    def text(self, prompt: Prompt, answer: Answer) -> str:
        """The completion in an answer."""
        return completion(answer.payload["text"], prompt)

    def known(self, requests: Iterable[Request]) -> int:
        """How many of the requests are answered on disk already."""
        names = list({self._name(request) for request in requests})
        return len(self.cache.known(names)) if self.cache else 0

    def converse(self, talks: Iterable[Talk[Result]]) -> Iterator[tuple[int, Result]]:
        """Drive all talks in rounds: what they ask together is generated in batches."""
        going: dict[int, tuple[Talk[Result], Sequence[Request]]] = {}
        for number, talk in enumerate(talks):
            yield from _step(number, talk, None, going)
        while going:
            asked = [request for _, requests in going.values() for request in requests]
            answers = iter(self._answer(asked))
            for number, (talk, requests) in list(going.items()):
                del going[number]
                yield from _step(number, talk, [next(answers) for _ in requests], going)

    def _answer(self, requests: Sequence[Request]) -> list[Answer]:
        answers: dict[int, Answer] = {}
        for place, request in enumerate(requests):
            name = self._name(request)
            stored = self.cache.get(name) if self.cache else None
            if stored is not None:
                self.ledger.add_cached(name, _usage(stored.payload))
                answers[place] = Answer(stored.payload, stored.error, cached=True)
        # Prompts of like length together: less padding.
        new = sorted(
            (place for place in range(len(requests)) if place not in answers), key=lambda p: len(requests[p].body["prompt"])
        )
        for start in range(0, len(new), self.batch_size):
            places = new[start : start + self.batch_size]
            for place, payload in zip(places, self._generate([requests[place] for place in places]), strict=True):
                answers[place] = self._keep(requests[place], payload)
        return [answers[place] for place in range(len(requests))]

    def _keep(self, request: Request, payload: dict[str, Any]) -> Answer:
        name = self._name(request)
        if self.cache is not None:
            self.cache.put(name, "local", payload)
        self.ledger.add(calls=1)
        self.ledger.add_answer(name, _usage(payload))
        return Answer(payload, attempts=1)

    def _name(self, request: Request) -> str:
        return answer_name(self.identity, request.body, request.sample)

    def _generate(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        parts = self._load()
        tokenizer = parts.tokenizer
        tokenizer.padding_side = "left"
        encoded = tokenizer([request.body["prompt"] for request in requests], return_tensors="pt", padding=True).to(parts.device)
        bodies = [request.body for request in requests]
        seeds = [int(self._name(request)[:15], 16) for request in requests]
        with torch.inference_mode():
            output = parts.model.generate(
                **encoded,
                do_sample=False,
                max_new_tokens=max(int(body["max_tokens"]) for body in bodies),
                pad_token_id=tokenizer.pad_token_id,
                logits_processor=LogitsProcessorList([RowSampling(bodies, seeds)]),
                stopping_criteria=StoppingCriteriaList([RowStop(tokenizer, bodies, encoded["input_ids"].shape[1])]),
            )
        written = output[:, encoded["input_ids"].shape[1] :]
        return [
            _payload(tokenizer, row[: int(body["max_tokens"])], int(mask.sum()))
            for row, body, mask in zip(written, bodies, encoded["attention_mask"], strict=True)
        ]

    def _load(self) -> Any:
        if self._parts is None:
            from fairwitness.models.loading import load_parts

            self._parts = load_parts(self.model_name)
        return self._parts


class RowSampling:
    """Sampling as an argmax: each row's log-probabilities, tempered and cut at its top-p, plus Gumbel noise of its own.

    The largest of log p + Gumbel is a draw from p; so a greedy search over the result samples every row by its own settings.
    """

    def __init__(self, bodies: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> None:
        self._bodies = bodies
        self._random = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        return torch.stack([self._row(row, index) for index, row in enumerate(scores)])

    def _row(self, scores: Any, index: int) -> Any:
        temperature = float(self._bodies[index]["temperature"])
        if temperature == 0.0:
            return scores.float()
        log_p = torch.log_softmax(scores.float() / temperature, dim=-1)
        noise = -torch.log(-torch.log(torch.rand(log_p.shape, generator=self._random[index]).clamp(1e-20, 1 - 1e-7)))
        return _within_top_p(log_p, float(self._bodies[index]["top_p"])) + noise.to(log_p.device)


class RowStop:
    """A row has ended once one of its stops stands in what it wrote."""

    def __init__(self, tokenizer: Any, bodies: Sequence[Mapping[str, Any]], start: int) -> None:
        self._tokenizer, self._bodies, self._start = tokenizer, bodies, start

    def __call__(self, input_ids: Any, _scores: Any, **_rest: Any) -> Any:
        texts = self._tokenizer.batch_decode(input_ids[:, self._start :])
        done = [any(stop in text for stop in body["stop"]) for text, body in zip(texts, self._bodies, strict=True)]
        return torch.tensor(done, device=input_ids.device)


def _within_top_p(log_p: Any, top_p: float) -> Any:
    """Log-probabilities with everything outside the smallest set of probability `top_p` at minus infinity."""
    ordered, order = torch.sort(log_p, descending=True)
    before = torch.cumsum(ordered.exp(), dim=-1) - ordered.exp()
    kept = torch.full_like(log_p, float("-inf"))
    inside = order[before < top_p]
    kept[inside] = log_p[inside]
    return kept


def _payload(tokenizer: Any, tokens: Any, read: int) -> dict[str, Any]:
    text = tokenizer.decode(tokens, skip_special_tokens=True)
    return {"text": text, "read": read, "written": int((tokens != tokenizer.pad_token_id).sum())}


def _usage(payload: dict[str, Any]) -> Usage:
    return Usage(tokens=payload["read"] + payload["written"])


def _step(
    number: int,
    talk: Talk[Result],
    answers: Sequence[Answer] | None,
    going: dict[int, tuple[Talk[Result], Sequence[Request]]],
) -> Iterator[tuple[int, Result]]:
    try:
        # The first step of a generator takes None and nothing else.
        going[number] = (talk, talk.send(answers))
    except StopIteration as end:
        yield number, end.value
