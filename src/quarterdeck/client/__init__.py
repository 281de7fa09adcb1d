"""Clients that reconnect and resume by themselves: of the runtime door (ask, watch, stop) and of the hub."""

from quarterdeck.client.api import Client
from quarterdeck.client.hub import Delivery, HubClient, HubFrame
from quarterdeck.client.hub_stream import HubStream
from quarterdeck.client.reply import Reply
from quarterdeck.client.stream import Told
from quarterdeck.client.trouble import Refused, Unreachable

__all__ = ["Client", "Delivery", "HubClient", "HubFrame", "HubStream", "Refused", "Reply", "Told", "Unreachable"]
