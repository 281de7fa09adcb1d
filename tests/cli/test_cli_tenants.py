"""`quarterdeck tenants`, `export` and `vault`, for people and for scripts."""

from __future__ import annotations

import json
import zipfile

import pytest
from decks import Deck

KEY = "sk-live-3fA9xQ7zT1bN5mK8"


def said(deck: Deck, *words: str) -> str:
    done = deck.on(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_tenant_is_created_listed_taken_along_and_erased(served: Deck) -> None:
    ident = json.loads(said(served, "tenants", "create", "Harbour & Sons", "harbour", "--json"))["id"]
    titles, line = said(served, "tenants", "list").splitlines()
    assert titles.split() == ["ID", "SLUG", "AGE", "NAME"]
    assert (line.split()[:2], line.endswith("Harbour & Sons")) == ([ident, "harbour"], True)
    target = served.folder / "harbour.zip"
    assert str(target) in said(served, "export", ident, str(target))
    assert json.loads(zipfile.ZipFile(target).read("tenant.json"))["slug"] == "harbour"
    assert target.stat().st_mode & 0o777 == 0o600
    again = served.on("export", ident, str(target))
    assert (again.returncode, "is there already" in again.stderr) == (1, True)
    unsure = served.on("tenants", "erase", ident, "--confirm", "harbor")
    assert (unsure.returncode, "repeat its slug" in unsure.stderr) == (1, True)
    assert ident in said(served, "tenants", "erase", ident, "--confirm", "harbour")
    gone = served.on("export", ident, str(served.folder / "gone.zip"))
    assert (gone.returncode, "no such tenant" in gone.stderr) == (1, True)
    assert not (served.folder / "gone.zip").exists()
    assert not (served.folder / "gone.zip.partial").exists()


def test_what_the_server_itself_holds_can_be_taken_along(served: Deck) -> None:
    target = served.folder / "local.zip"
    said(served, "export", "local", str(target))
    assert "events.ndjson" in zipfile.ZipFile(target).namelist()


@pytest.mark.parametrize(("words", "given"), [(("--key-from-stdin",), f"{KEY}\n"), (("--no-key",), "")])
def test_a_provider_is_set_and_tried_out_and_its_key_is_not_shown(
    served: Deck, words: tuple[str, ...], given: str
) -> None:
    slug = "with-key" if given else "without-key"
    ident = json.loads(said(served, "tenants", "create", "A", slug, "--json"))["id"]
    done = served.on(
        "tenants", "provider", ident, "openai", "--base-url", "https://models.invalid/v1", *words, said=given
    )
    assert done.returncode == 1  # nobody is there, and that is told
    assert done.stdout.strip().startswith("models.invalid/v1: no such host")
    assert KEY not in done.stdout + done.stderr


def test_without_a_terminal_a_key_is_not_waited_for(served: Deck) -> None:
    done = served.on("tenants", "provider", "nobody", "openai")
    assert (done.returncode, "--key-from-stdin" in done.stderr) == (1, True)


def test_the_master_key_is_changed(served: Deck) -> None:
    assert "locked under a new master key" in said(served, "vault", "rotate")
