"""Striking secrets out of everything that a person or a file might get to see.

Perspective takes its key in the address, and addresses end up in error messages and logs. So every message of the service layer
passes through `redact`, and the HTTP library's own log lines do too.
"""

import logging
import re
from collections.abc import Iterable

_ENDS = r"""[^\s&"',;)}\]]+"""
_PATTERNS = (
    # key=…, api_key=…, "token": "…": whatever follows, up to what ends a value in an address, a header or JSON
    re.compile(r"""((?:api[-_]?key|access[-_]?token|\bkey|\btoken|secret|password)["']?\s*[=:]\s*["']?)""" + _ENDS, re.IGNORECASE),
    re.compile(r"""(authorization["']?\s*[:=]\s*["']?(?:bearer\s+|basic\s+)?)""" + _ENDS, re.IGNORECASE),
    re.compile(r"(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
    # the shapes of Google's, OpenAI's and Hugging Face's keys, wherever they stand
    re.compile(r"()\b(?:AIza[0-9A-Za-z_-]{16,}|sk-[0-9A-Za-z_-]{16,}|hf_[0-9A-Za-z]{16,})"),
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` with keys, tokens and auth headers replaced by ***; `secrets` are struck out wherever they stand.

    >>> redact("POST https://host/v1:analyze?key=AIzaVerySecret&x=1 failed")
    'POST https://host/v1:analyze?key=***&x=1 failed'
    >>> redact("Authorization: Bearer abc.def-123456")
    'Authorization: Bearer ***'
    >>> redact("the password pw-1 leaked", ["pw-1"])
    'the password *** leaked'
    """
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "***")
    for pattern in _PATTERNS:
        text = pattern.sub(r"\1***", text)
    return text


class _Redacting(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), ()
        return True


_FILTER = _Redacting()


def redact_http_logs() -> None:
    """Make the HTTP library's log lines, which carry whole addresses, pass through `redact`."""
    for name in ("httpx2", "httpcore2", "httpx", "httpcore"):
        logging.getLogger(name).addFilter(_FILTER)
