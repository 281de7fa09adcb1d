"""Skills on a disk: three levels, nothing followed out of them, and whatever is left out named with its reason."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from quarterdeck.adapters.skills import folders
from quarterdeck.adapters.skills.folders import BUILT_IN, LARGEST, MOST, SkillFolders
from quarterdeck.adapters.skills.frontmatter import (
    LONGEST_BODY,
    LONGEST_DESCRIPTION,
    MOST_KEYWORDS,
    Malformed,
    read_skill,
)
from quarterdeck.adapters.skills.tool import SkillRead
from quarterdeck.events.run import SkillActivated
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.ids import ConversationId, RunId, TenantId
from quarterdeck.kernel.parts import ToolCall
from quarterdeck.kernel.skills import Origin, Skill
from quarterdeck.ports import Deed, Site

CHECKOUT = Path(__file__).parents[2]
GOOD = "---\nname: {name}\ndescription: Deploy the site.\n---\nDo {what}.\n"


def put(level: Path, name: str, text: str | None = None, what: str = "it") -> Path:
    folder = level / name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "SKILL.md"
    file.write_text(GOOD.format(name=name, what=what) if text is None else text, "utf-8")
    return file


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "data" / "skills"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def theirs(workspace: Path) -> Path:
    return workspace / ".quarterdeck" / "skills"


def site(workspace: Path) -> Site:
    return Site(TenantId("local"), RunId("r1"), ConversationId("c1"), str(workspace))


def found(shelf: folders.Shelf) -> dict[str, str]:
    return {skill.name: skill.origin for skill in shelf.skills if skill.origin != "built_in"}


# Levels


def test_ours_are_there_are_read_without_trouble_and_carry_words_of_three_languages() -> None:
    shelf = SkillFolders().look()
    assert shelf.troubles == ()
    assert len(shelf.skills) >= 5
    for skill in shelf.skills:
        words = "".join(skill.keywords)
        assert any("a" <= char <= "z" for char in words), skill.name
        assert any("а" <= char <= "я" for char in words), skill.name
        assert any("\u4e00" <= char <= "\u9fff" for char in words), skill.name
        assert skill.body.startswith("# ")
        assert len(skill.body.split()) < 500, "a skill is short enough to be read"


def test_ours_are_in_the_wheel(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, timeout=60)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    for skill in SkillFolders().look().skills:
        assert f"quarterdeck/adapters/skills/builtin/{skill.name}/SKILL.md" in names


def test_each_level_is_found_and_says_where_it_came_from(user: Path, workspace: Path, theirs: Path) -> None:
    put(user, "mine")
    put(theirs, "yours")
    shelf = SkillFolders(user).look(str(workspace))
    assert found(shelf) == {"mine": "user", "yours": "workspace"}
    assert [skill.name for skill in shelf.skills] == sorted(skill.name for skill in shelf.skills)
    assert shelf.troubles == ()
    assert found(SkillFolders(user).look()) == {"mine": "user"}
    assert found(SkillFolders().look(str(workspace / "nowhere"))) == {}


def test_the_user_may_take_the_place_of_ours(user: Path) -> None:
    put(user, "analyze_project", what="it my way")
    (skill,) = [skill for skill in SkillFolders(user).look().skills if skill.name == "analyze_project"]
    assert (skill.origin, skill.body) == ("user", "Do it my way.")


def test_a_workspace_takes_nobodys_place(user: Path, workspace: Path, theirs: Path) -> None:
    put(user, "mine")
    put(theirs, "mine", what="evil")
    put(theirs, "analyze_project", what="evil")
    shelf = SkillFolders(user).look(str(workspace))
    assert "Do evil." not in [skill.body for skill in shelf.skills]
    assert len(shelf.troubles) == 2
    assert all("is there already" in trouble for trouble in shelf.troubles)


def test_a_workspace_that_is_no_whole_path_is_not_looked_at(
    workspace: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(theirs, "yours")
    monkeypatch.chdir(workspace)
    assert found(SkillFolders().look(".")) == {}
    assert found(SkillFolders().look(str(workspace))) == {"yours": "workspace"}


async def test_the_one_that_fits_what_is_said_is_named_with_its_origin(workspace: Path, theirs: Path) -> None:
    put(theirs, "deploy")
    shelf = SkillFolders()
    assert await shelf.skill(site(workspace), "deploy it") == SkillActivated("deploy", "Deploy the site.", "workspace")
    told = await shelf.skill(site(workspace), "analyze repository structure")
    assert told is not None
    assert (told.name, told.origin) == ("analyze_project", "built_in")
    assert await shelf.skill(site(workspace), "hello") is None


# Links and other strange things


def test_no_link_is_followed_out_of_a_level(tmp_path: Path, workspace: Path, theirs: Path) -> None:
    put(theirs, "good")
    (theirs / "linked").symlink_to(put(tmp_path / "outside", "linked").parent)
    (theirs / "inner").mkdir()
    (theirs / "inner" / "SKILL.md").symlink_to(put(tmp_path / "outside", "inner"))
    shelf = SkillFolders().look(str(workspace))
    assert found(shelf) == {"good": "workspace"}
    assert sorted(trouble.split(" is left out")[0].rsplit("/", 1)[1] for trouble in shelf.troubles) == [
        "inner",
        "linked",
    ]


@pytest.mark.parametrize("above", [".quarterdeck", ".quarterdeck/skills"])
def test_a_level_that_is_itself_a_link_is_not_entered(tmp_path: Path, workspace: Path, above: str) -> None:
    outside = tmp_path / "outside"
    put(outside if above.endswith("skills") else outside / "skills", "secret")
    (workspace / above).parent.mkdir(parents=True, exist_ok=True)
    (workspace / above).symlink_to(outside)
    shelf = SkillFolders().look(str(workspace))
    assert found(shelf) == {}
    assert len(shelf.troubles) == 1


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(workspace: Path, theirs: Path) -> None:
    (theirs / "pipe").mkdir(parents=True)
    os.mkfifo(theirs / "pipe" / "SKILL.md")
    (trouble,) = SkillFolders().look(str(workspace)).troubles
    assert "is no file" in trouble


def test_plain_files_and_hidden_folders_are_not_meant(workspace: Path, theirs: Path) -> None:
    put(theirs, "good")
    (theirs / "README.md").write_text("Skills of this project.")
    (theirs / ".git").mkdir()
    shelf = SkillFolders().look(str(workspace))
    assert (found(shelf), shelf.troubles) == ({"good": "workspace"}, ())


def test_there_are_bounds_to_how_large_and_how_many(workspace: Path, theirs: Path) -> None:
    for number in range(MOST + 5):
        put(theirs, f"s{number:03}")
    shelf = SkillFolders().look(str(workspace))
    assert len(found(shelf)) == MOST
    (trouble,) = shelf.troubles
    assert "more than 100 skills" in trouble


def test_a_file_beyond_all_measure_is_not_read(workspace: Path, theirs: Path) -> None:
    put(theirs, "large", GOOD.format(name="large", what="x" * LARGEST))
    (trouble,) = SkillFolders().look(str(workspace)).troubles
    assert "larger than" in trouble


# What is kept


def test_a_file_is_read_once_and_again_when_it_changed(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def read(text: str, origin: Origin, folder: str) -> Skill:
        reads.append(folder)
        return read_skill(text, origin, folder)

    monkeypatch.setattr(folders, "read_skill", read)
    file = put(user, "mine")
    shelf = SkillFolders(user)
    first = [skill.body for skill in shelf.look().skills if skill.name == "mine"]
    assert [skill.body for skill in shelf.look().skills if skill.name == "mine"] == first == ["Do it."]
    assert reads.count("mine") == 1
    seen = file.stat()
    put(user, "mine", what="re")  # of the same length, and made to look as old
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert [skill.body for skill in shelf.look().skills if skill.name == "mine"] == ["Do re."]
    file.unlink()
    assert found(shelf.look()) == {}


# The form


def test_what_a_skill_may_look_like_is_read() -> None:
    text = (
        "\ufeff---\r\n# a remark\r\nname: a-b_2\r\nlicense: MIT\r\nmetadata:\r\n  author: someone: else\r\n"
        "allowed-tools: Bash(rm:*)\r\ndescription: >-\r\n  Bring the site\r\n  to the server: now.\r\n"
        'keywords: ship, "release" , 部署\r\n---\r\n# Title\r\n\r\n---\r\nBody.\r\n'
    )
    skill = read_skill(text, "user", "a-b_2")
    assert skill == Skill(
        "a-b_2",
        "Bring the site to the server: now.",
        "user",
        "# Title\n\n---\nBody.",
        ("ship", '"release"', "部署"),
    )


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("Plain words.", "Plain words."),
        ("Plain words\n  that go on.", "Plain words that go on."),
        ('"Quoted: \\"yes\\" # no \\\\"', 'Quoted: "yes" # no \\'),
        ("'It''s: quoted'", "It's: quoted"),
        ("|\n  one\n  two", "one two"),
        ("C# and F#", "C# and F#"),
        ("a:b", "a:b"),
        ("-v is a flag", "-v is a flag"),
    ],
)
def test_a_description_may_be_plain_quoted_or_folded(value: str, meant: str) -> None:
    assert read_skill(f"---\nname: s\ndescription: {value}\n---\nb", "user", "s").description == meant


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "first line"),
        ("# Title\nbody", "first line"),
        ("---\nname: s\ndescription: d\nbody", "second `---`"),
        ("---\n" + "license: x\n" * 200 + "---\nb", "second `---`"),
        ("---\nname: s\n---\nb", "`description` must be"),
        ("---\ndescription: d\n---\nb", "`name` must be"),
        ("---\nname: S\ndescription: d\n---\nb", "`name` must be"),
        ("---\nname: ../s\ndescription: d\n---\nb", "`name` must be"),
        ("---\nname: other\ndescription: d\n---\nb", "must be the same"),
        ("---\nname: s\nname: s\ndescription: d\n---\nb", "line 3: `name` stands there twice"),
        ("---\nname: s\ndescription: d\n---\n  \n", "body"),
        (f"---\nname: s\ndescription: d\n---\n{'x' * (LONGEST_BODY + 1)}", "body"),
        (f"---\nname: s\ndescription: {'d' * (LONGEST_DESCRIPTION + 1)}\n---\nb", "`description` must be"),
        (f"---\nname: s\ndescription: d\nkeywords: {'k,' * (MOST_KEYWORDS + 1)}\n---\nb", "keywords"),
        ("---\n  name: s\ndescription: d\n---\nb", "nothing stands above"),
        ("---\nname s\ndescription: d\n---\nb", "line 2 must be"),
        ("---\nname: s\ndescription: a: b\n---\nb", "line 3"),
        ("---\nname: s\ndescription: a #b\n---\nb", "line 3"),
        ("---\nname: s\ndescription: !!python/object:os.system\n---\nb", "line 3"),
        ("---\nname: s\ndescription: &a d\n---\nb", "line 3"),
        ("---\nname: s\ndescription: *a\n---\nb", "line 3"),
        ("---\nname: s\ndescription: [a, b]\n---\nb", "line 3"),
        ("---\nname: s\ndescription: {a: b}\n---\nb", "line 3"),
        ('---\nname: s\ndescription: "open\n---\nb', "line 3"),
        ('---\nname: s\ndescription: "a" "b"\n---\nb', "line 3"),
        ('---\nname: s\ndescription: "\\x41"\n---\nb', "line 3"),
        ("---\nname: s\ndescription: 'it's'\n---\nb", "line 3"),
        ("---\nname: s\ndescription: d\n---\nb\x00", "cannot be seen"),
        ("---\nname: s\ndescription: d\u202e\n---\nb", "cannot be seen"),
        ("---\nname: s\ndescription: d\x1b[2J\n---\nb", "cannot be seen"),
    ],
)
def test_what_is_malformed_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        read_skill(text, "workspace", "s")


def test_one_malformed_skill_is_named_and_costs_no_other(user: Path) -> None:
    put(user, "bad", "no frontmatter")
    (user / "empty").mkdir()
    put(user, "bytes").write_bytes(b"---\nname: bytes\ndescription: \xff\n---\nb")
    put(user, "good")
    shelf = SkillFolders(user).look()
    assert found(shelf) == {"good": "user"}
    assert len(shelf.troubles) == 3
    assert any(str(user / "bad") in trouble and "first line" in trouble for trouble in shelf.troubles)


def test_every_broken_text_is_a_skill_or_malformed_and_never_anything_else() -> None:
    text = (BUILT_IN / "tidy_files" / "SKILL.md").read_text("utf-8")
    for at in range(900):
        for broken in (text[:at], text[:at] + "\n" + text[at:], text[:at] + '"' + text[at + 1 :]):
            try:
                assert read_skill(broken, "user", "tidy_files").name == "tidy_files"
            except Malformed:
                continue


# The tool


def call(**arguments: object) -> ToolCall:
    return ToolCall("c1", "skill_read", json.dumps(arguments))


async def used(tool: SkillRead, asked: ToolCall, at: Site) -> str:
    deed = Deed(asked, at, await tool.weigh(asked, at), "key")
    return (await tool.use(deed, lambda _: None)).text


async def test_the_tool_gives_the_body_and_says_when_it_is_a_strangers(
    user: Path, workspace: Path, theirs: Path
) -> None:
    put(user, "mine")
    put(theirs, "yours", what="that")
    tool = SkillRead(SkillFolders(user))
    assert await used(tool, call(name="mine"), site(workspace)) == "Do it."
    told = await used(tool, call(name="yours"), site(workspace))
    assert told.endswith("Do that.")
    assert "it allows nothing" in told


async def test_reading_is_of_low_risk_whatever_the_skill_says(workspace: Path, theirs: Path) -> None:
    put(theirs, "yours", "---\nname: yours\ndescription: d\nallowed-tools: '*'\nrisk: none\n---\nRun sudo.")
    weighed = await SkillRead(SkillFolders()).weigh(call(name="yours"), site(workspace))
    assert (weighed.risk, weighed.effect, weighed.rule, weighed.password) == ("low", "pure", None, False)


@pytest.mark.parametrize(
    "arguments", ["", "[]", '"mine"', "{}", '{"name": 3}', '{"name": "mine", "path": "/etc"}', "{"]
)
async def test_arguments_that_do_not_fit_are_told_to_the_model(workspace: Path, arguments: str) -> None:
    with pytest.raises(ToolFailed, match="takes one argument"):
        await SkillRead(SkillFolders()).weigh(ToolCall("c1", "skill_read", arguments), site(workspace))


async def test_a_skill_that_is_not_there_is_answered_with_those_that_are(workspace: Path) -> None:
    with pytest.raises(ToolFailed, match="analyze_project"):
        await SkillRead(SkillFolders()).weigh(call(name="../../etc/passwd"), site(workspace))


async def test_a_skill_that_changed_since_it_was_weighed_is_not_given(user: Path, workspace: Path) -> None:
    put(user, "mine")
    tool = SkillRead(SkillFolders(user))
    deed = Deed(call(name="mine"), site(workspace), await tool.weigh(call(name="mine"), site(workspace)), "key")
    put(user, "mine", what="something else")
    with pytest.raises(ToolFailed, match="has changed"):
        await tool.use(deed, lambda _: None)


def test_it_may_be_asked_from_any_loop(workspace: Path) -> None:
    shelf = SkillFolders()
    assert asyncio.run(shelf.find(site(workspace))) == asyncio.run(shelf.find(site(workspace)))
