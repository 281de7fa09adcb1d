"""Commands that look harmless and are not, and everyday commands that are. Plain data."""

from __future__ import annotations

# Each of these writes, runs, sends or reads something that its first word does not tell.
HARMLESS_LOOKING = (
    # a shell, or what starts one
    "sh -lc ls", "bash -c ls", "dash -c id", "/bin/sh -c date", "env ls", "env -S 'touch x'", "env sh",
    "busybox ls", "busybox touch x", "toybox ls", "command ls", "builtin pwd", "exec ls", "eval ls", ". ./x",
    "source x", "xargs touch", "xargs -a list rm", "nice ls", "timeout 5 ls", "nohup ls", "setsid ls",
    "stdbuf -o0 ls", "time ls", "watch ls", "script -c ls", "flock x ls", "ionice ls", "chroot . ls",
    "unshare ls", "strace ls", "ld.so ./x", "/lib64/ld-linux-x86-64.so.2 ./x", "parallel touch ::: x",
    "find . -exec touch {} +",
    # flags that write or execute
    "find . -exec touch x", "find . -delete", "find . -fprintf out x", "find . -fprint out",
    "find . -fls out", "find . -ok touch x", "find . -execdir touch x", "find -files0-from list",
    "find -L . -name x", "find / -name x", "sort -o out in", "sort --output=out in", "sort --outp=out in",
    "sort --compress-program=./x in", "sort -T .. in", "sort --files0-from=list", "uniq in out",
    "uniq -c in out", "sed -i s/a/b/ file", "sed --in-place s/a/b/ file", "sed 1e file", "sed wout file",
    "sed -n 1w/tmp/x file", "sed -f script file", "awk system(1) file", "awk -f script file",
    "gawk -i inplace 1 file", "tee out", "tee -a out", "dd if=a of=b", "cp a b", "mv a b", "ln -s /etc x",
    "install a b", "touch x", "mkdir x", "truncate -s 0 x", "split file", "csplit file 1", "shred x",
    "tar -xf x.tar", "tar -tf x.tar", "tar --to-command=./x -xf x.tar",
    "tar --checkpoint=1 --checkpoint-action=exec=./x", "tar -I ./x -tf x.tar",
    "tar --use-compress-program=./x -tf x.tar", "tar -tf host:x.tar", "zip -TT ./x a.zip b", "zip a.zip b",
    "unzip x.zip", "unzip -p x.zip", "gzip file", "gunzip file.gz", "zcat file.gz", "cpio -i", "ar p x.a",
    "xxd in out", "xxd -r in", "xxd -r in out", "base64 -d file", "iconv -o out in",
    "od --output-duplicates x", "file -m magic x", "file --magic-file=magic x", "file -f list",
    "file -C -m magic", "file -z x.gz", "du -L .", "du --files0-from=list", "du --files0=list", "du -X list",
    "wc --files0-from=list", "wc --files0=list", "grep -f /etc/shadow x", "grep --file=/etc/shadow x",
    "grep -R word .", "grep -P a x", "grep -rf list .", "diff -l a b", "diff --to-file=a b", "diff -r a b",
    "cmp a", "comm a", "head -c 1G /dev/zero", "tail -f x", "tail -F x", "tail --pid=1 x", "tail --retry x",
    "cat /dev/zero", "ls --hyperlink=always", "ls --color=always", "ls -L link", "ls --dereference x",
    "ls -I x", "tree -o out", "tree -R -H . -L 1", "tree --fromfile list", "tree -l", "nl -d x file",
    "stat -L x", "stat --printf=x y", "stat --cached=never x", "test -w x", "readlink -m x", "jq -f script x",
    "jq --from-file script x", "jq env x", "jq import x", "md5sum -c list", "sha256sum --check list",
    "column -t file", "pr file", "look word", "strings --target=x file", "hexdump -f format file",
    "paste - -", "cat -", "wc -", "echo -e x", "fold -w", "head -n", "tail -n 5", "cat", "wc -l", "sort",
    "uniq", "stat",
    # what is set, turned off or asked of others
    "date -s 12:00", "date --set=12:00", "date -f list", "date --file=list", "date -r x", "date +%999999999d",
    "hostname NEW", "hostname -F file", "hostname -b x", "hostname -f", "id root", "uname --help",
    "free -s 1", "df --output=source", "df /proc/self/root", "who am i", "uptime -x", "nproc --ignore=1",
    "lscpu -s /", "ip link set lo down", "ip netns exec x ls", "ip -b list", "lsblk -o NAME", "locale -a",
    "timedatectl", "mount", "dmesg", "dmesg -C", "ps aux", "env", "printenv", "set", "export", "history",
    "crontab -l", "top -b -n 1", "getconf -a", "vmstat 1", "apt list --upgradable -o Dir=x",
    "apt -o APT::Pager=./x list", "apt update", "apt list ?x", "apt install vim", "apt-get install vim",
    "dpkg -i x.deb", "dpkg --root=. -l", "dpkg -x a.deb b", "dpkg-query -f x -W", "pip install .",
    "pip list --outdated", "pip --python ./x list", "pip freeze", "pip config set a b", "pip list --log out",
    "pip download x", "pip show -f ../x", "rpm -qp x.rpm", "rpm -i x.rpm", "rpm --pipe ./x -qa",
    "rustc --version", "cargo --version", "go version", "npm --version", "java -version", "./uname -a",
    "bin/date", "/usr/bin/date", "../ls", "uname -a -a", "UNAME -a", "Ls -la",
    # programs that run what lies in the folder
    "git status", "git log", "git diff", "git show", "git branch", "git -c core.pager=x log",
    "git --paginate log", "git -c core.fsmonitor=./x status", "git --exec-path=. status", "git -C .. status",
    "git grep -O./x word", "git ls-remote --upload-pack=./x .", "git fetch --upload-pack=./x",
    "git clone ext::x", "git config --list", "git diff --ext-diff", "git diff --output=out",
    "git archive --output=x HEAD", "git bisect run ./x", "git clean -fd", "git reset --hard",
    "git version --build-options", "make", "make -n", "make --version -f x", "npm test", "npx x", "yarn",
    "pytest", "tox", "cargo build", "go test", "gcc -wrapper ./x a.c", "python3 -c 1", "python3 x.py",
    "python3 -m json.tool x", "python3 -V x.py", "python3 -Vc 1", "perl -e 1", "perl -v", "ruby -e 1",
    "node -e 1", "node --version x.js", "node -v -r ./x", "php -r 1", "lua -e 1", "man -P ./x ls",
    "less +! x", "less x", "more x", "vim -c q", "vi x", "ed x", "emacs x", "gdb x",
    "ssh -o ProxyCommand=./x h", "scp a h:b", "rsync -e ./x a b", "rsync a b", "curl x", "wget x", "nc h 1",
    "ping h", "docker ps", "systemctl status", "journalctl", "openssl version", "sqlite3 x",
    "sqlite3 --version", "rg word", "rg --pre ./x word", "fd x", "ag word", "bat x", "vim --version",
    # more than one command, and what a shell puts in
    "ls; id", "ls;id", "ls && id", "ls || id", "ls | sh", "ls & id", "ls &", "ls\nid", "ls\n", "\nls",
    "ls\rid", "ls\r\n", "ls\tx", "ls\x0bid", "ls\x0cid", "ls\u2028id", "ls\u2029id", "ls\x85id",
    "ls $(touch x)", "ls `touch x`", "cat <(id)", "tee >(id)", "ls > out", "ls >> out", "ls >| out",
    "ls 2>err", "ls &> out", "cat < in", "cat <<EOF\n$(id)\nEOF", "cat <<< x", "ls *", "ls ?", "ls [a]",
    "ls {a,b}", "ls ~", "ls ~root", "ls $HOME", "ls ${x:=$(id)}", "ls $((a[1]))", "ls $'\\x41'", "ls \"x\"",
    "ls 'x'", "ls \\x", "ls #x", "ls !x", "! ls", "(ls)", "{ ls; }", "ls ^x", "grep a|b x", "grep 'a b' x",
    "grep \"$(id)\" x", "echo $(id)", "echo `id`", "echo a > b", "echo $HOME", "printf -v x y",
    "test -v a[$(id)]", "PATH=. ls", "LD_PRELOAD=./x ls", "BASH_ENV=x ls", "X=1 date", "PAGER=./x git log",
    "PS4=x sh -x", "IFS=x", "ls\\\n-la", "ls ''", "''ls", "l's'", "l\\s", "$0", "alias ls=x", "function ls",
    "ls() { id; }",
    # beyond the folder
    "cat /etc/shadow", "cat /etc/passwd", "cat ../x", "cat a/../../x", "cat ~/.ssh/id_rsa", "cat a/..",
    "ls ..", "ls /", "ls -la /proc/self/root", "cat /proc/self/environ", "cat /proc/1/environ",
    "cat /dev/fd/3", "cat /dev/stdin", "head -n 5 /var/log/syslog", "grep -rn word /", "grep -rn word ..",
    "find .. -name x", "du -sh /", "wc -l /etc/passwd", "stat /root", "file /dev/sda", "tail -n 5 ../x",
    "sort ../x", "diff x /etc/passwd", "readlink -f ../x", "cat //etc/x", "cat a//b", "cat ./../x",
    "ls file:///etc", "cat x:y", "test -f /etc/shadow", "realpath /", "tree /", "cat ..",
    # written so that it is misread
    "ls\u00a0-la", "ls\u2003-la", "ls\u3000x", "ls \u200bx", "l\u200bs", "ls\u202e x", "\u202els",
    "\u0441at README.md", "c\u0430t x", "uname\u2010a", "cat READM\u0415.md", "ls \uff0dla", "ls \U000e0041",
    "cat x\u0301", "ls\ufeff", "\ufeffls", "cat caf\u00e9", "ls  -la", " ls", "ls ", "ls -la ", "uname  -a",
    "date ", "uname -a\x00", "ls \x1b[2K", "ls\x08", "ls -la -- x", "ls --al", "ls --all=x",
    "cat --show-al x", "head --lines=5 x", "head --li=5 x", "wc --li x", "ls -Z", "uname --all", "uname --al",
    "date --utc", "sort -uo out x", "sort -ro out x", "ls -laX", "grep --recursive a b",
    # sudo and its kin
    "sudo ls", "sudo -E ls", "sudo -S ls", "sudo -i", "su", "su -c ls", "doas ls", "pkexec ls", "sudoedit x",
    "runuser x",
)  # fmt: skip

EVERYDAY = (
    "ls", "ls -la", "ls -l src", "ls -lh docs/decisions", "ls -R src", "ls -1 .", "ls -ltr", "cat README.md",
    "cat src/quarterdeck/ports.py", "cat -n pyproject.toml", "cat .gitignore", "head README.md",
    "head -n 20 README.md", "head -20 README.md", "head -c 100 README.md", "tail README.md",
    "tail -n 50 build.log", "tail -n +10 build.log", "wc -l README.md", "wc README.md LICENSE", "pwd",
    "stat README.md", "file README.md", "file --mime-type logo.png", "du -sh .", "du -sh src", "du -h -d 1 .",
    "find . -name README.md", "find src -type f", "find . -maxdepth 2 -type d",
    "find . -type f -name Makefile", "grep -rn word src", "grep word README.md", "grep -rn TODO .",
    "grep -ri license docs", "grep -n -A 3 class src/a.py", "grep -c word README.md", "grep -rl word .",
    "sort names.txt", "sort -u names.txt", "sort -k 2 names.txt", "uniq names.txt", "uniq -c names.txt",
    "diff a.txt b.txt", "diff -u a.txt b.txt", "cmp a b", "comm -12 a b", "cut -d , -f 1,3 table.csv",
    "nl README.md", "tac README.md", "sha256sum dist.tar", "md5sum a b", "xxd -l 64 logo.png", "od -c x",
    "strings -n 8 a.out", "basename src/a.py", "dirname src/a.py", "readlink -f link", "realpath src",
    "tree -L 2", "jq .name package.json", "test -f README.md", "echo hello", "base64 logo.png",
)  # fmt: skip

QUERIES = (
    "uname -a", "uname", "date", "date -u", "date +%Y-%m-%d", "date +%s", "uptime", "whoami", "id", "id -un",
    "hostname", "df -h", "free -m", "nproc", "lscpu", "lsblk", "who", "locale", "groups", "arch", "ip addr",
    "which python3", "cat /etc/os-release", "cat /proc/meminfo", "python3 --version", "git --version",
    "gcc --version", "node --version",
)  # fmt: skip

PACKAGE_QUERIES = (
    "apt list --upgradable", "apt list --installed", "apt list vim", "apt show vim", "apt-cache policy vim",
    "dpkg -l", "dpkg -s libc6", "dpkg -L coreutils", "pip list", "pip --version", "pip show aiohttp",
    "rpm -qa",
)  # fmt: skip
