"""Settings of money: read strictly, and what is wrong with one is said with its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from quarterdeck.engine.money import DEFAULT_PRICES, Price
from quarterdeck.kernel.errors import Invalid
from quarterdeck.settings import read_settings

PRICES = '{"openai/*": {"input": 2, "output": 8}}'


def test_without_a_word_about_money_there_is_no_cap_and_only_what_runs_here_has_a_price() -> None:
    settings = read_settings({"QUARTERDECK_PRICES": " ", "QUARTERDECK_DAY_BUDGET_USD": ""})
    assert (settings.prices, settings.run_budget_usd, settings.day_budget_usd) == (DEFAULT_PRICES, None, None)


def test_a_cap_of_nothing_is_a_cap() -> None:
    settings = read_settings({"QUARTERDECK_RUN_BUDGET_USD": "0.5", "QUARTERDECK_DAY_BUDGET_USD": "0"})
    assert (settings.run_budget_usd, settings.day_budget_usd) == (0.5, 0.0)


def test_prices_are_given_as_they_are_or_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "prices.json").write_text(PRICES)
    for given in (PRICES, f"  {PRICES}\n", str(tmp_path / "prices.json")):
        prices = read_settings({"QUARTERDECK_PRICES": given}).prices
        assert prices["openai/*"] == Price(2.0, 8.0)
        assert prices["local/*"] == Price(0.0, 0.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("QUARTERDECK_PRICES", "/no/such/file"),
        ("QUARTERDECK_PRICES", "{"),
        ("QUARTERDECK_PRICES", '{"m": 1}'),
        ("QUARTERDECK_PRICES", "/"),
        ("QUARTERDECK_RUN_BUDGET_USD", "much"),
        ("QUARTERDECK_DAY_BUDGET_USD", "-1"),
        ("QUARTERDECK_DAY_BUDGET_USD", "nan"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(Invalid, match=name) as refused:
        read_settings({name: value})
    assert refused.value.code == "bad_setting"


def test_files_of_a_folder_somebody_works_in_set_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_settings({})
    evil = "QUARTERDECK_MODEL=openai/evil\nOPENAI_BASE_URL=http://evil.example\nQUARTERDECK_DATA_DIR=/tmp/evil\n"
    (tmp_path / ".quarterdeck").mkdir()
    for name in (".env", ".envrc", ".quarterdeck/environment", ".quarterdeck/settings", "quarterdeck.env", "mcp.json"):
        (tmp_path / name).write_text(evil)
    monkeypatch.chdir(tmp_path)
    assert read_settings({}) == before
    assert read_settings({"QUARTERDECK_MODEL": "openai/good"}).model == "openai/good"
