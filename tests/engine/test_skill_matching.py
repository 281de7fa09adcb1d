"""Which skill fits what somebody says, in three languages, and that small talk fits none."""

from __future__ import annotations

import pytest

from quarterdeck.adapters.skills.folders import SkillFolders
from quarterdeck.engine.skills import matching, stem, summary
from quarterdeck.kernel.skills import Origin, Skill

OURS = SkillFolders().look().skills


def skill(name: str, description: str, origin: Origin = "user", *keywords: str) -> Skill:
    return Skill(name, description, origin, "Do it.", keywords)


def names(message: str, skills: tuple[Skill, ...] = OURS, limit: int = 1) -> list[str]:
    return [each.name for each in matching(skills, message, limit)]


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("analyze repository structure", "analyze_project"),
        ("Analyse this codebase, please.", "analyze_project"),
        ("проанализируй структуру проекта", "analyze_project"),
        ("разбери архитектуру репозитория", "analyze_project"),
        ("分析项目结构", "analyze_project"),
        ("请帮我分析一下这个项目的结构", "analyze_project"),
        ("please review this pull request", "review_change"),
        ("проверь мои изменения", "review_change"),
        ("审查这个提交", "review_change"),
        ("Write tests for the parser", "write_tests"),
        ("напиши тесты для парсера", "write_tests"),
        ("给解析器写单元测试", "write_tests"),
        ("Explain the errors in this log", "explain_error"),
        ("объясни ошибку в логе", "explain_error"),
        ("解释这个错误", "explain_error"),
        ("tidy my downloads folder", "tidy_files"),
        ("наведи порядок в папке", "tidy_files"),
        ("整理文件夹", "tidy_files"),
        ("use analyze_project", "analyze_project"),
    ],
)
def test_a_message_finds_the_skill_for_its_work(message: str, name: str) -> None:
    assert names(message) == [name]


@pytest.mark.parametrize(
    "message",
    [
        "",
        "   ",
        "?!",
        "hello",
        "Hello! Who are you?",
        "what is the capital of France",
        "write a poem about the sea",
        "explain quantum physics",
        "check updates",
        "What is in notes.txt?",
        "count the files in this folder",
        "2 + 2",
        "привет, как дела?",
        "какая столица у Франции",
        "напиши стихотворение о море",
        "посчитай файлы в папке",
        "你好",
        "法国的首都是什么？",
        "写一首关于大海的诗",
        "列出文件夹中的文件",
    ],
)
def test_small_talk_and_other_work_find_none(message: str) -> None:
    assert names(message) == []


def test_a_skill_without_keywords_is_found_by_its_name_or_its_description() -> None:
    deploy = skill("deploy", "Bring the site to the staging server.")
    assert names("deploy it now", (deploy,)) == ["deploy"]
    assert names("bring our site to that staging server", (deploy,)) == ["deploy"]
    assert names("bring me the news", (deploy,)) == []


def test_a_short_name_does_not_speak_for_itself() -> None:
    assert names("go to the beach", (skill("go", "Compile programs."),)) == []
    assert names("sail to the beach", (skill("sail", "Compile programs."),)) == ["sail"]


def test_the_best_comes_first_and_no_more_than_were_asked_for() -> None:
    site, shop = skill("deploy_site", "Deploy the site."), skill("deploy_shop", "Deploy the shop and the site.")
    assert names("deploy the shop", (site, shop)) == ["deploy_shop"]
    assert names("deploy the site of the shop", (shop, site), 5) == ["deploy_shop", "deploy_site"]
    assert names("deploy the shop", (site, shop), 0) == []


def test_a_workspace_comes_behind_what_fits_as_well_and_is_more_trusted() -> None:
    theirs, ours = skill("a_deploy", "Deploy things.", "workspace"), skill("b_deploy", "Deploy things.", "user")
    assert names("deploy things", (theirs, ours), 2) == ["b_deploy", "a_deploy"]


def test_a_long_message_that_happens_to_hold_two_words_of_a_skill_finds_none() -> None:
    story = " ".join(f"{word}ling" for word in ("star", "sap", "dar", "duck", "gos", "under", "hire", "year", "seed"))
    assert names(f"{story} explain error") == []
    assert names("explain error") == ["explain_error"]


def test_a_message_without_end_is_looked_at_only_so_far() -> None:
    assert names("tale " * 100_000 + "analyze project structure") == []


@pytest.mark.parametrize(
    "forms",
    [
        ("structure", "structures"),
        ("analyze", "analyse", "analyzing", "analyzed"),
        ("tidy", "tidied", "tidying"),
        ("repository", "repositories"),
        ("проект", "проекта", "проектом", "проекты"),
        ("структура", "структуру", "структуры", "структурой"),
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


def test_a_stem_is_never_nothing() -> None:
    assert [stem(word) for word in ("is", "y", "ей", "es", "bed")] == ["is", "y", "ей", "es", "bed"]


def test_the_summary_is_one_line_that_says_where_a_strangers_words_begin() -> None:
    assert summary("deploy", "Deploy it.", "user") == "Active skill: deploy — Deploy it."
    assert summary("deploy", "Deploy it.", "workspace").endswith("(from the workspace's own files)")
