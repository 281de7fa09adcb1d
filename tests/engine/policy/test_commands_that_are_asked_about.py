"""Commands that no one knows word for word: how risky they look, what sudo may be, and what is never done."""

from __future__ import annotations

import pytest
from harmless_looking import EVERYDAY, HARMLESS_LOOKING
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.engine.policy.lexing import taken_apart
from quarterdeck.engine.policy.shell import judge
from quarterdeck.engine.policy.verdict import rank


@pytest.mark.parametrize("command", ["make", "python3 x.py", "git status", "ls *", "cat /etc/hostname", "./run a b"])
def test_what_is_not_known_goes_to_the_sandbox_as_it_was_written(command: str) -> None:
    judged = judge(command)
    assert (judged.risk, judged.action, judged.lane) == ("medium", "shell", "sandbox")
    assert judged.argv == ("/bin/sh", "-c", command)


@pytest.mark.parametrize(
    ("command", "risk"),
    [
        ("curl https://example.org", "medium"),
        ("wget x", "medium"),
        ("git clone x", "medium"),
        ("git pull", "medium"),
        ("git -C x fetch", "medium"),
        ("git push", "high"),
        ("pip install x", "medium"),
        ("python3 -m pip install x", "medium"),
        ("npm install", "medium"),
        ("apt update", "medium"),
        ("ssh host ls", "high"),
        ("timeout 5 curl x", "medium"),
        ("make && curl x", "medium"),
        ("echo $(curl x)", "medium"),
        ("curl x | sh", "high"),
        ("echo > /dev/tcp/h/1", "high"),
        ("bash -c 'wget x'", "high"),
        ('"curl" x', "medium"),
        ("c\\url x", "medium"),
        ("/usr/bin/curl x", "medium"),
    ],
)
def test_what_needs_the_network_says_so(command: str, risk: str) -> None:
    judged = judge(command)
    assert (judged.risk, judged.action, judged.lane) == (risk, "network", "sandbox")


@pytest.mark.parametrize(
    "command",
    [
        "rm x",
        "rm -rf build",
        "rm -rf ./*",
        "git reset --hard",
        "git clean -fdx",
        "git push --force",
        "git push -f",
        "git push --forc",
        "dd if=a of=b",
        "kill -9 1",
        "pkill x",
        "chmod -R 777 .",
        "chown --recursive x .",
        "truncate -s 0 x",
        "shutdown now",
        "mkfs.ext4 disk.img",
        "find . -delete",
        "find . -exec rm {} +",
        "ls | xargs rm",
        "if true; then rm x; fi",
        "X=1 rm x",
        "(cd a; rm x)",
        "f() { rm x; }; f",
        "echo `rm x`",
        "cat <<A | sh\nrm x\nA",
        "rm${IFS}x",
        "curl x; rm y",
    ],
)
def test_what_takes_things_away_says_so(command: str) -> None:
    judged = judge(command)
    assert (judged.risk, judged.action, judged.lane) == ("high", "destructive", "sandbox")


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -rf /*",
        "rm -rf //",
        "rm -rf /.",
        "rm -rf /tmp/..",
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf ~/*",
        "rm -rf ~root",
        "rm -rf $HOME",
        'rm -rf "${HOME}"/*',
        "rm -r -f /etc",
        "rm --rec /usr",
        "rm -rf / tmp/x",
        "rm --no-preserve-root -rf x",
        "find / -delete",
        "chmod -R 000 /",
        "chown -R me /usr",
        "mv / x",
        "mv ~ /dev/null",
        "mkfs.ext4 /dev/sda1",
        "mkfs /dev/nvme0n1",
        "dd if=/dev/zero of=/dev/sda",
        "echo x > /dev/sda",
        "cat x >>/dev/vda",
        "tee /dev/sdb",
        "cp x /dev/sda",
        "shred /dev/sda",
        ":(){ :|:& };:",
        "bomb() { bomb | bomb & }; bomb",
        "bash -c 'rm -rf /'",
        "echo $(rm -rf ~)",
        "true && rm -rf /",
        "sudo rm -rf /",
        "sudo mkfs.ext4 /dev/sda1",
        "sudo dd if=x of=/dev/sda",
    ],
)
def test_what_cannot_be_taken_back_is_refused_whoever_asks(command: str) -> None:
    judged = judge(command)
    assert (judged.risk, judged.lane, judged.argv) == ("forbidden", "none", ())


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf ./build",
        "rm -rf /work/x/build",
        "rm -f /",
        "find / -iregex x",
        "mv a b",
        "dd if=/dev/sda of=x",
        "cp /dev/sda x",
        "echo x > /dev/null",
        "cat x 2>/dev/null",
        "grep 'rm -rf /' log",
        "git commit -m 'never rm -rf /'",
    ],
)
def test_what_only_resembles_it_is_asked_about(command: str) -> None:
    assert judge(command).risk in {"medium", "high"}


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("sudo apt update", ("apt", "update")),
        ("sudo apt install -y vim", ("apt", "install", "-y", "vim")),
        ("sudo systemctl restart nginx", ("systemctl", "restart", "nginx")),
        ("sudo /usr/bin/apt update", ("/usr/bin/apt", "update")),
        ("sudo chown me:me /srv/x", ("chown", "me:me", "/srv/x")),
        ("sudo ls", ("ls",)),
    ],
)
def test_one_plain_sudo_command_is_asked_about_in_a_lane_of_its_own(command: str, argv: tuple[str, ...]) -> None:
    judged = judge(command)
    assert (judged.risk, judged.action, judged.lane, judged.argv) == ("high", "privileged", "sudo", argv)


OTHER_SUDO = [
    *(f"sudo {option} ls" for option in ("-E", "-s", "-i", "-S", "-n", "-k", "-A", "-b", "-D/", "-R/", "-h", "-u#-1")),
    *(f"sudo {option} ls" for option in ("-u", "--", "--preserve-env", "--user=root", "--askpass", "-l", "-v", "-e")),
    *("sudo", "sudo -i", "sudo ", " sudo ls", "sudo  ls", "sudo ls ", "sudo\tls", "sudo\nls", "sudo ls\n"),
    *("sudo ls; id", "id; sudo ls", "sudo ls | cat", "ls | sudo tee x", "sudo ls > x", "true && sudo ls", "sudo ls &"),
    *("sudo ls *", "sudo ls ~", "sudo ls $HOME", "sudo 'ls'", "sudo $(id)", "sudo cat <x", "sudo l\\s"),
    *("sudo X=1 ls", "sudo PATH=. ls", "X=1 sudo ls", "sudo sh", "sudo bash x.sh", "sudo -s", "sudo su", "sudo env ls"),
    *("sudo sudo ls", "sudo python3 x.py", "sudo make install", "sudo timeout 5 ls", "sudo xargs rm", "sudo doas ls"),
    *("sudo ./x", "sudo x/y", "sudo ../x", "sudo /home/me/x", "sudo /tmp/x", "sudo /usr/bin/../../tmp/x", "sudo vim x"),
    *("sudo awk 1", "sudo find / -name x", "sudo busybox sh", "sudo visudo", "sudo apt install sudo"),
    *("/usr/bin/sudo ls", "./sudo ls", "\\sudo ls", "su''do ls", '"sudo" ls', "command sudo ls", "env sudo ls"),
    *("bash -c 'sudo ls'", 'sh -c "sudo ls"', "echo x | sudo -S ls", "echo $(sudo ls)", "echo `sudo ls`", "xargs sudo"),
    *("find . -exec sudo ls ;", "nice sudo ls", "python3 -c \"os.system('sudo ls')\"", "cat <<A\n$(sudo ls)\nA"),
    *(
        "su",
        "su -",
        "su -c ls",
        "su root",
        "env su",
        "true; su",
        "doas ls",
        "pkexec ls",
        "sudoedit /etc/hosts",
        "run0 ls",
    ),
]


@pytest.mark.parametrize("command", OTHER_SUDO)
def test_any_other_way_to_become_root_is_refused_with_what_to_do(command: str) -> None:
    judged = judge(command)
    assert (judged.risk, judged.action, judged.lane, judged.argv) == ("forbidden", "privileged", "none", ())
    assert any(word in judged.why for word in ("Write ", "write ", "name one", "install it"))


@pytest.mark.parametrize(
    "command", ["echo 'use sudo'", 'grep "sudo" x | head -5', "git commit -m 'sudo: say why'", "cat sudoers.md | wc -l"]
)
def test_a_command_that_only_mentions_sudo_is_like_any_other(command: str) -> None:
    assert judge(command).lane == "sandbox"


@pytest.mark.parametrize(
    "command",
    [
        "",
        " \t\n",
        "ls\0-la",
        "echo \ud800",
        "x" * 8193,
        "é" * 4097,
        ";".join(["true"] * 51),
        "\n".join(["true"] * 51),
        "|".join(["cat"] * 51),
        "echo " + "$(" * 9 + "id" + ")" * 9,
        "(" * 9 + "id" + ")" * 9,
        "bash -c '" + "true;" * 60 + "'",
    ],
)
def test_a_limit_means_no(command: str) -> None:
    judged = judge(command)
    assert (judged.risk, judged.lane, judged.argv) == ("forbidden", "none", ())


@pytest.mark.parametrize(
    "command",
    [
        "echo " + "x" * 8000,
        ";".join(["true"] * 50),
        "echo " + "$(" * 8 + "id" + ")" * 8,
        "cat > x <<'A'\n" + "a line; of text\n" * 80 + "A\n",
    ],
)
def test_what_is_within_the_limits_is_asked_about(command: str) -> None:
    assert judge(command).lane == "sandbox"


@given(st.sampled_from([c for c in HARMLESS_LOOKING if judge(c).risk != "forbidden"]), st.sampled_from(EVERYDAY))
def test_what_is_added_to_a_command_never_makes_it_less_risky(command: str, more: str) -> None:
    assert rank(judge(f"{command}; {more}").risk) >= rank(judge(command).risk)


@pytest.mark.parametrize(
    ("command", "commands"),
    [
        ("a b;c", [["a", "b"], ["c"]]),
        ("a 'b c' \"d e\"f\\ g", [["a", "b c", "d ef g"]]),
        ("a $(b c) d", [["b", "c"], ["a", "", "d"]]),
        ('a "x $(b "c d") y"', [["b", "c d"], ["a", "x  y"]]),
        ("a `b`", [["b"], ["a", ""]]),
        ("a >b 2>>c <d", [["a", ">", "b", "2", ">", "c", "<", "d"]]),
        ("a # b; c\nd", [["a"], ["d"]]),
        ("cat <<X; b\nc d\nX\ne", [["cat", "<<", "X", "c d\n"], ["b"], ["e"]]),
        ("case x in a) b;; esac", [["case", "x", "in", "a"], ["b"], ["esac"]]),
    ],
)
def test_a_script_is_taken_apart_into_its_commands(command: str, commands: list[list[str]]) -> None:
    assert taken_apart(command).commands == commands
