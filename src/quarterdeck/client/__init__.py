"""A client of the runtime door: ask, watch from any place, stop; it reconnects and resumes by itself."""

from quarterdeck.client.api import Client
from quarterdeck.client.reply import Reply
from quarterdeck.client.stream import Told
from quarterdeck.client.trouble import Refused, Unreachable

__all__ = ["Client", "Refused", "Reply", "Told", "Unreachable"]
