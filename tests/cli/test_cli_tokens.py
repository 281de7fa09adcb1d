"""`quarterdeck tokens`: the first one on the data folder, the others through the server, and what they open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from decks import Deck, stop

from quarterdeck.client import Client
from quarterdeck.kernel.errors import Invalid

NAME = "deck.example"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deck]:
    """A server that asks for tokens, and an operator's in the environment."""
    deck = Deck(tmp_path_factory.mktemp("guarded"))
    deck.script({"content": ["Hello ", "there, ", "猫."]})
    done = deck.run("tokens", "create", "--operator", "--name", "mine")
    assert done.returncode == 0, done.stderr
    assert "only time" in done.stderr
    deck.serve("--behind-proxy", "--allow-host", NAME)
    deck.env["QUARTERDECK_TOKEN"] = done.stdout.strip()
    yield deck
    deck.close()


def test_a_guarded_server_is_used_with_a_token_and_not_without(guarded: Deck) -> None:
    assert guarded.on("chat", "hello").stdout.startswith("Hello there, 猫.")
    assert len(json.loads(guarded.on("runs", "list", "--json").stdout)) == 1
    done = guarded.on("runs", "list", QUARTERDECK_TOKEN="")
    assert done.returncode == 1
    assert "Say who you are" in done.stderr


def test_a_token_is_issued_used_listed_and_revoked(guarded: Deck) -> None:
    made = json.loads(guarded.on("tokens", "create", "--service", "backup", "--role", "viewer", "--json").stdout)
    shown = made["token"]
    assert guarded.on("runs", "list", QUARTERDECK_TOKEN=shown).returncode == 0
    assert "role" in guarded.on("chat", "hello", QUARTERDECK_TOKEN=shown).stderr
    listed = guarded.on("tokens", "list").stdout
    assert made["id"] in listed
    assert shown[40:] not in listed
    assert guarded.on("tokens", "revoke", made["id"]).returncode == 0
    assert guarded.on("runs", "list", QUARTERDECK_TOKEN=shown).returncode == 1
    assert "revoked" in guarded.on("tokens", "list").stdout


def test_a_token_can_be_piped_and_ends_when_it_was_said_to(guarded: Deck) -> None:
    done = guarded.on("tokens", "create", "--expires", "90d")
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith("qd_")
    line = json.loads(guarded.on("tokens", "list", "--json").stdout)[-1]
    assert line["expires_at"] - line["issued_at"] == pytest.approx(90 * 86_400, abs=60)
    assert "no span of time" in guarded.on("tokens", "create", "--expires", "soon").stderr


def test_a_user_is_added_signs_in_changes_and_goes(guarded: Deck) -> None:
    made = json.loads(guarded.on("users", "add", "Ann", "--role", "viewer", "--json").stdout)
    assert guarded.on("runs", "list", QUARTERDECK_TOKEN=made["token"]).returncode == 0
    assert guarded.on("users", "role", made["id"], "member").stdout == "Ann is member from now on.\n"
    assert made["id"] in guarded.on("users", "list").stdout
    assert guarded.on("users", "remove", made["id"]).returncode == 0
    assert guarded.on("runs", "list", QUARTERDECK_TOKEN=made["token"]).returncode == 1
    assert made["id"] not in guarded.on("users", "list").stdout


def test_the_first_token_needs_the_folder_for_itself(guarded: Deck) -> None:
    done = guarded.run("tokens", "create", "--operator")
    assert done.returncode == 1
    assert "using" in done.stderr or "in use" in done.stderr


def test_a_server_does_tls_itself(deck: Deck, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    shown = deck.run("tokens", "create", "--operator").stdout.strip()
    process = deck.serve("--tls-cert", str(cert), "--tls-key", str(key))
    assert deck.url.startswith("https://127.0.0.1")
    done = deck.on("runs", "list", "--json", QUARTERDECK_TOKEN=shown, SSL_CERT_FILE=str(cert))
    assert json.loads(done.stdout) == []
    assert deck.on("runs", "list", QUARTERDECK_TOKEN="", SSL_CERT_FILE=str(cert)).returncode == 1
    assert stop(process) == 0


def certificate(folder: Path) -> tuple[Path, Path]:
    cert, key = folder / "cert.pem", folder / "key.pem"
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now, whose = datetime.now(UTC), x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(name, name, secret.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    signed = made.add_extension(whose, critical=False).sign(secret, hashes.SHA256())
    cert.write_bytes(signed.public_bytes(Encoding.PEM))
    key.write_bytes(secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return cert, key


@pytest.mark.parametrize("url", ["http://deck.example", "http://10.0.0.1:8101"])
def test_a_token_does_not_travel_in_the_clear(url: str) -> None:
    with pytest.raises(Invalid, match="in the clear"):
        Client(url, token="qd_x")
    assert Client("https://deck.example", token="qd_x").url == "https://deck.example"
