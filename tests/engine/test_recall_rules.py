"""What a question finds, in three languages, by words alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.engine.recall import Hit, Index, fused, mostly_english, terms

KNOWN = {
    "name-ru": "Пользователя зовут Владимир.",
    "name-en": "The user's name is Vladimir",
    "name-zh": "用户的名字叫李雷",
    "tea": "Любит зелёный чай с мятой",
    "deploy": "Deploys run on Fridays from the release branch",
    "shanghai": "项目部署在上海的服务器上",
    "dark": "User prefers the dark theme in editors",
    "kana": "ユーザーはコーヒーが好きです",
}


@pytest.fixture
def index() -> Index:
    index = Index()
    for ident, text in KNOWN.items():
        index.put(ident, text)
    return index


def found(index: Index, query: str, limit: int = 8) -> list[str]:
    return [hit.id for hit in index.search(query, limit, lambda _: True)]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("Как меня зовут? Ответь коротко.", "name-ru"),
        ("КАК МЕНЯ ЗОВУТ", "name-ru"),
        ("what is my name", "name-en"),
        ("What's my name?", "name-en"),
        ("我叫什么名字", "name-zh"),
        ("какие чаи он любит", "tea"),
        ("зеленого чаю", "tea"),
        ("when do we deploy on a friday?", "deploy"),
        ("部署在哪里？", "shanghai"),
        ("Which THEMES does he prefer", "dark"),
        ("ｅｄｉｔｏｒ", "dark"),
        ("コーヒー", "kana"),
    ],
)
def test_a_question_finds_what_it_is_about(index: Index, query: str, best: str) -> None:
    assert found(index, query)[0] == best


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?!",
        "what is it",
        "how do you do",
        "что это такое и как же быть",
        "你是谁",
        "我的",
        "quantum physics",
        "абракадабра",
    ],
)
def test_a_question_about_nothing_that_is_known_finds_nothing(index: Index, query: str) -> None:
    assert found(index, query) == []


def test_what_is_dropped_is_found_no_more_and_leaves_nothing_behind(index: Index) -> None:
    for ident in KNOWN:
        index.drop(ident)
        index.drop(ident)
    assert found(index, "name зовут 名字") == []
    assert not index._with
    assert (index._length, len(index)) == (0, 0)


def test_what_is_put_again_is_found_by_its_new_words_alone(index: Index) -> None:
    index.put("name-en", "The user is called Boris")
    assert "name-en" not in found(index, "what is my name")
    assert found(index, "boris") == ["name-en"]


def test_the_seldom_word_weighs_more_and_of_equals_the_more_important_one() -> None:
    index = Index()
    for number in range(30):
        index.put(f"m{number:02}", f"project note number{number}")
    index.put("x1", "project zebra", 0.2)
    index.put("x2", "project zebra", 0.9)
    hits = index.search("project zebra", 40, lambda _: True)
    assert [hit.id for hit in hits[:2]] == ["x2", "x1"]
    assert (hits[0].matched, hits[2].matched) == (2, 1)
    assert len(index.search("project zebra", 5, lambda _: True)) == 5


def test_only_what_fits_is_told(index: Index) -> None:
    assert [hit.id for hit in index.search("name 名字", 8, lambda ident: ident == "name-zh")] == ["name-zh"]


def test_the_least_important_and_oldest_is_the_one_to_go() -> None:
    index = Index()
    for ident, importance in (("b", 0.1), ("a", 0.1), ("c", 0.9)):
        index.put(ident, "text", importance)
    assert index.least() == "a"


def test_a_question_of_any_length_is_looked_at_only_so_far(index: Index) -> None:
    assert found(index, "name " + "word " * 500_000 + "зовут")[:2] == ["name-en", "name-ru"]


@given(st.text(max_size=60))
def test_a_text_is_found_by_itself(text: str) -> None:
    index = Index()
    index.put("it", text)
    assert found(index, text) == (["it"] if list(terms(text)) else [])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.text("кот cat 猫狗", max_size=12), st.booleans()), max_size=20))
def test_an_index_that_was_changed_is_one_that_was_made_so(course: list[tuple[str, str, bool]]) -> None:
    changed, left = Index(), {}
    for ident, text, goes in course:
        if goes:
            changed.drop(ident)
            left.pop(ident, None)
        else:
            changed.put(ident, text)
            left[ident] = text
    made = Index()
    for ident, text in left.items():
        made.put(ident, text)
    for query in ("кот", "cat", "猫狗", "кот cat"):
        assert changed.search(query, 9, lambda _: True) == made.search(query, 9, lambda _: True)


def test_what_is_meant_goes_before_a_stray_word_and_beside_a_telling_one() -> None:
    stray, telling = Hit("stray", 9.0, 1), Hit("telling", 5.0, 1, rare=True)
    found = fused([stray, telling], {"meant": 0.8, "stray": 0.1, "far": -0.2}, 8)
    assert [hit.id for hit in found] == ["meant", "telling"]
    both = fused([Hit("both", 1.0, 2)], {"both": 0.5, "meant": 0.8}, 8)
    assert [hit.id for hit in both] == ["both", "meant"]
    assert fused([], {}, 8) == []
    assert len(fused([telling], {str(n): 0.9 for n in range(9)}, 3)) == 3


@pytest.mark.parametrize(
    ("query", "english"), [("what is my name?", True), ("как меня зовут", False), ("我叫什么", False), ("", False)]
)
def test_only_english_is_asked_of_a_model_that_knows_no_other(query: str, *, english: bool) -> None:
    assert mostly_english(query) is english


@pytest.mark.parametrize(
    ("question", "found"),
    [("喝什么茶", "用户喜欢喝乌龙茶"), ("我的猫叫什么", "猫的名字是小花"), ("住在哪个城市", "用户住在上海")],
)
def test_a_chinese_question_finds_what_shares_a_telling_character(question: str, found: str) -> None:
    index = Index()
    for text in ("用户喜欢喝乌龙茶", "猫的名字是小花", "用户住在上海", "服务器在星期五重启"):
        index.put(text, text)
    assert [hit.id for hit in index.search(question, 1, lambda ident: True)] == [found]


def test_chinese_characters_that_say_nothing_find_nothing() -> None:
    index = Index()
    index.put("a", "这是我的")
    index.put("b", "用户喜欢喝乌龙茶")
    assert index.search("那是什么", 5, lambda ident: True) == []
