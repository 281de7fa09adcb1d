"""What can go wrong with a server, in words; and what a server may ask of a person in the middle of a call.

Trouble            a sentence for people; nothing of it came from the server unless it was cut and cleaned
  Refused          the server answered with an error of its own: .code .data
  Status           an HTTP answer that is no MCP: .status
  Broken           the connection is gone; a call that was under way may or may not have been carried out
    Forgotten      the server no longer knows our session; nothing of the call was done, it may be asked anew
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterdeck.kernel.errors import ToolFailed


class Trouble(Exception):
    pass


class Refused(Trouble):
    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


class Status(Trouble):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Broken(Trouble):
    pass


class Forgotten(Broken):
    pass


class InputNeeded(ToolFailed):
    """The server wants to know something of a person before it goes on; nothing waits meanwhile, on either side.

    Told to the model like any failure, it says what was asked. Whoever can reach a person shows `question` and lets
    them fill in `schema` (a flat JSON schema), saying which server asks; then `McpTool.resume(deed, resume, …)` goes
    on. `resume` is text, to be kept as it is, for as long as the server honours it.
    """

    def __init__(self, told: str, *, question: str, schema: Mapping[str, Any], resume: str) -> None:
        super().__init__(told)
        self.question, self.schema, self.resume = question, schema, resume
