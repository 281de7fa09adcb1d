"""What a provider's trouble means: statuses, named errors and `Retry-After`, as `ModelFailed` with a stable code.

    provider_auth          the key is missing or wrong          provider_unreachable   no connection       (try again)
    provider_not_found     no such model, or a wrong URL        provider_timeout       silence             (try again)
    provider_rejected      the request was not accepted         provider_cut           half an answer      (try again)
    provider_out_of_money  the account is empty                 provider_malformed     not what was agreed (try again)
    provider_rate_limited  too much, too fast (try again)       provider_error         trouble over there  (try again)
    address_not_allowed    nowhere we may connect to

Nothing a provider said is quoted at length, and never with a key in it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from quarterdeck.adapters.models.endpoint import Endpoint
from quarterdeck.kernel.errors import ModelFailed

LONGEST_QUOTE = 300
FINAL = frozenset(
    {"provider_auth", "provider_not_found", "provider_rejected", "provider_out_of_money", "address_not_allowed"}
)

BY_STATUS = {
    401: "provider_auth",
    402: "provider_out_of_money",
    403: "provider_auth",
    404: "provider_not_found",
    408: "provider_rate_limited",
    409: "provider_rate_limited",
    410: "provider_not_found",
    425: "provider_rate_limited",
    429: "provider_rate_limited",
}

# Words in an error's type or code, in the order in which they decide.
BY_NAME = (
    ("insufficient_quota", "provider_out_of_money"),
    ("billing", "provider_out_of_money"),
    ("rate_limit", "provider_rate_limited"),
    ("authentication", "provider_auth"),
    ("api_key", "provider_auth"),
    ("permission", "provider_auth"),
    ("not_found", "provider_not_found"),
    ("invalid_request", "provider_rejected"),
    ("exceed_context", "provider_rejected"),
    ("context_length", "provider_rejected"),
    ("too_large", "provider_rejected"),
    ("timeout", "provider_timeout"),
)

LOOKS_SECRET = re.compile(
    r"(?i)\bbearer\s+\S+"
    r"|\b(?:sk|pk|rk|xai|gsk|hf|ghp|key)[-_][-_.*A-Za-z0-9]{6,}"
    r"|\b(?:api[-_]?key|token|secret)[:=]\s*\S{6,}"
    r"|\bAIza[-_A-Za-z0-9]{10,}"
    r"|[-_+/=A-Za-z0-9]{40,}"
)


def failed(code: str, detail: str, *, retry_after: float | None = None) -> ModelFailed:
    return ModelFailed(code, detail, retryable=code not in FINAL, retry_after=retry_after)


def by_status(endpoint: Endpoint, status: int, headers: Mapping[str, str], body: bytes) -> ModelFailed:
    """An answer other than 200, with the beginning of its body."""
    code = BY_STATUS.get(status) or ("provider_error" if status >= 500 else "provider_rejected")
    name, text = _read(body)
    if "insufficient_quota" in name or "credit balance" in text:
        code = "provider_out_of_money"  # said with a 429 or a 400, though waiting does not help
    detail = _sentence(endpoint, code, status)
    if text:
        detail += f" It said: {quoted(text, endpoint)}"
    return failed(code, detail, retry_after=retry_after(headers))


def by_name(endpoint: Endpoint, error: object) -> ModelFailed:
    """An error that came inside a stream whose status had promised better."""
    name, text = _named(error)
    number = error.get("code") if isinstance(error, dict) else None
    if isinstance(number, int) and 400 <= number <= 599:
        code = BY_STATUS.get(number) or ("provider_error" if number >= 500 else "provider_rejected")
    else:
        code = next((code for word, code in BY_NAME if word in name), "provider_error")
    said = f" It said: {quoted(text or name, endpoint)}" if text or name else ""
    return failed(code, _sentence(endpoint, code, None) + said)


def quoted(text: str, endpoint: Endpoint) -> str:
    if endpoint.api_key:
        text = text.replace(endpoint.api_key, "[redacted]")
    text = LOOKS_SECRET.sub("[redacted]", " ".join(text.split()))
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 1] + "…"


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds the provider asks us to wait: milliseconds, seconds or a date, whichever it wrote."""
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _sentence(endpoint: Endpoint, code: str, status: int | None) -> str:
    labels, who, answered = endpoint.labels, endpoint.who, f" (status {status})" if status else ""
    sentences = {
        "provider_auth": f"{who} does not accept the key{answered}; check {labels.key}.",
        "provider_not_found": f"{who} does not know {endpoint.model!r}{answered}; "
        f"check {labels.model} and {labels.url}.",
        "provider_out_of_money": f"{who} says that the account has no credit left{answered}.",
        "provider_rate_limited": f"{who} asks us to slow down{answered}.",
        "provider_rejected": f"{who} did not accept the request for {endpoint.model!r}{answered}.",
    }
    if status and 300 <= status < 400:
        return f"{who} sent us elsewhere{answered}, where we do not follow; check {labels.url}."
    return sentences.get(code, f"{who} has trouble{answered}.")


def _read(body: bytes) -> tuple[str, str]:
    """The name and the text of an error, in whichever of the usual shapes it came."""
    try:
        document = orjson.loads(body)
    except ValueError:
        return "", body.decode("utf-8", "replace").strip()
    return _named(document.get("error", document) if isinstance(document, dict) else document)


def _named(error: object) -> tuple[str, str]:
    if not isinstance(error, dict):
        return "", error if isinstance(error, str) else ""
    name = " ".join(str(error.get(key) or "") for key in ("type", "code")).strip().lower()
    text: Any = error.get("message") or error.get("detail") or ""
    return name, text if isinstance(text, str) else orjson.dumps(text).decode()
