"""Styles of debate: how many rounds, and what each who debates is asked to stand for. Data; the rules are the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quarterdeck.events.team import Language

MAX_DEBATES = 3
MAX_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class DebateStyle:
    """`stances` are handed out in turn, one to each who debates, in each language; none of them binds nobody."""

    name: str
    rounds: int
    stances: Mapping[Language, tuple[str, ...]] = field(default_factory=dict)

    def stance(self, language: Language, place: int) -> str:
        told = self.stances.get(language, ())
        return told[place % len(told)] if told else ""


STYLES: Mapping[str, DebateStyle] = {
    style.name: style
    for style in (
        DebateStyle("open", 2),
        DebateStyle(
            "for_against",
            2,
            {
                "en": ("Argue for the proposal.", "Argue against the proposal."),
                "zh": ("请为该提议辩护。", "请反对该提议。"),
                "ru": ("Отстаивайте предложение.", "Возражайте против предложения."),
            },
        ),
        DebateStyle(
            "devils_advocate",
            3,
            {
                "en": (
                    "Look for what everybody overlooks: attack the view that seems safest.",
                    "Say what you think is best.",
                ),
                "zh": ("找出大家忽略的问题：质疑看似最稳妥的观点。", "说出你认为最好的方案。"),
                "ru": (
                    "Ищите то, что все упускают: нападайте на самый надёжный на вид вариант.",
                    "Скажите, что считаете лучшим.",
                ),
            },
        ),
    )
}


def style_of(name: str) -> DebateStyle:
    return STYLES.get(name, STYLES["open"])
