"""Addresses of tenants' models: judged in every way of writing them, and connected to only as judged."""

from __future__ import annotations

import asyncio
import socket

import pytest
from aiohttp.abc import ResolveResult
from listening import hear

from quarterdeck.adapters.addresses import JudgingResolver
from quarterdeck.adapters.models.brought import brought
from quarterdeck.adapters.models.watch import Patience
from quarterdeck.adapters.models.whereabouts import Whereabouts
from quarterdeck.engine.providers import checked_base, origin_of
from quarterdeck.kernel.errors import Invalid
from quarterdeck.kernel.tenancy import TenantConfig
from quarterdeck.testing.upstream import Answer, Upstream

INWARD = (
    "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1",
    "169.254.169.254", "100.64.0.1", "0.0.0.0", "0", "224.0.0.1", "255.255.255.255", "localhost", "model.localhost",
    "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]",
    "[fe80::1]", "[fc00::1]", "[ff02::1]", "LOCALHOST", "[::FFFF:10.0.0.1]",
)  # fmt: skip


@pytest.mark.parametrize("host", INWARD)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_address_that_leads_inward_is_refused_however_it_is_written(host: str, scheme: str) -> None:
    with pytest.raises(Invalid) as told:
        Whereabouts().judge(checked_base(f"{scheme}://{host}:8080/v1"))
    assert told.value.code == "address_not_allowed"
    assert "QUARTERDECK_PROVIDER_ALLOW=" in told.value.detail


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org", "file:///etc/passwd", "unix:/run/x.sock", "gopher://example.org", "https://", "https://:80",
        "https://user@example.org", "https://user:pw@example.org", "https://example.org?x=1", "https://example.org#x",
        "https://exa mple.org", "https://example.org\\@evil", "https://example.org:0", "https://example.org:65536",
        "https://example.org\x00.evil", "https://example.org/\r\nHost: evil", "//example.org", "example.org",
        "https://bücher.example", "https://example.org/%0d", "https://[fe80::1%25eth0]",
        "https://example.org/" + "a" * 600,
    ],
)  # fmt: skip
def test_what_is_no_plain_address_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as told:
        checked_base(url)
    assert told.value.code == "bad_base_url"


def test_a_key_is_not_sent_in_the_clear_unless_the_operator_says_so() -> None:
    with pytest.raises(Invalid):
        Whereabouts().judge("http://models.example.org/v1")
    Whereabouts().judge("https://models.example.org/v1")
    Whereabouts(["models.example.org"]).judge("http://models.example.org/v1")


def test_an_operator_allows_a_host_or_one_of_its_ports() -> None:
    one = Whereabouts(["127.0.0.1:11434", "[::1]:8080", "GPU.lan"])
    for fine in ("http://127.0.0.1:11434/v1", "http://[::1]:8080/v1", "http://gpu.lan:9/v1", "https://gpu.lan"):
        one.judge(fine)
    for not_so in ("http://127.0.0.1:22/v1", "http://[::1]:22", "http://127.1:11434", "http://gpu.lan.evil:9"):
        with pytest.raises(Invalid):
            one.judge(not_so)


def test_an_origin_is_the_same_however_it_is_written() -> None:
    assert (
        origin_of("https://API.example.org/v1")
        == origin_of("https://api.example.org:443")
        == "https://api.example.org:443"
    )
    assert origin_of("http://api.example.org") != origin_of("https://api.example.org")


class Rebound(JudgingResolver):
    """A name server whose names all lead here."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return await super().resolve("localhost", port, family)


async def test_a_name_that_leads_inward_is_not_connected_to() -> None:
    async with Upstream() as upstream:
        places = Whereabouts()
        places.http._resolver = Rebound
        base = f"https://models.example.org:{upstream.url.rpartition(':')[2]}/v1"
        places.judge(base)
        config = TenantConfig("openai", "m", base)
        heard = await hear(brought(config, "m", base, "sk-secret-12345", places.http, Patience()))
        assert heard.failure is not None
        assert (heard.failure.code, heard.failure.retryable) == ("address_not_allowed", False)
        assert "models.example.org" in heard.failure.detail
        assert upstream.connections == 0
        await places.http.aclose()


async def test_where_a_provider_sends_us_on_to_is_not_followed_and_not_given_the_key() -> None:
    async with Upstream() as elsewhere:
        moved = Answer(b"", 302, {"location": f"{elsewhere.url}/v1/chat/completions"}, "text/plain")
        async with Upstream(moved) as upstream:
            places = Whereabouts(["127.0.0.1"])
            base = f"{upstream.url}/v1"
            places.judge(base)
            heard = await hear(brought(TenantConfig("openai"), "m", base, "sk-secret-12345", places.http, Patience()))
            assert heard.failure is not None
            assert "where we do not follow" in heard.failure.detail
            assert elsewhere.requests == []
            await places.http.aclose()
        await asyncio.sleep(0)
