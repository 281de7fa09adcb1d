"""Words that say nothing about what a text is about, in English, Russian and Chinese."""

from __future__ import annotations

_ENGLISH = """
a about am an and any are as at be been but by can could did do does for from had has have he her here him his how i if
in into is it its just know let me may might mine more my no not of on or our ours please shall she should so some tell
than that the their them then there these they this those to too up us was we were what when where which who whom whose
why will with would yes you your yours
"""
_RUSSIAN = """
а без бы был была были было быть в вам вас ваш ваша ваше ваши весь во вот все всего всех вы где да давай для до его ее
если есть еще же за и из или им их к как какая какие какой какое когда кого кому которая которые который кто ли лишь
меня мне мной можно мой моя мое мои мы на над надо нам нас наш наша не него нее нет ни них но ну о об он она они оно от
ответь очень по под пожалуйста подскажи потом потому при про с сам свой своя свои себе себя скажи со так также такой там
те тебе тебя тем то тобой только том тот ты у уж уже хоть чего чей чем что чтобы чья эта эти это этого этой этом этот я
"""
ENGLISH, RUSSIAN = frozenset(_ENGLISH.split()), frozenset(_RUSSIAN.split())
# A pair of these says nothing; one of them beside another character still may.
CHINESE = frozenset("的了是我你他她它们吗呢吧啊在有和与也都就这那么什怎请把被会要个哪谁为给对很还上下不没叫")
