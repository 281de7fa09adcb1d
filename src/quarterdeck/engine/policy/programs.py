"""Names of programs by what they are known for. Only comfort hangs on these lists: to raise a risk and to say why."""

from __future__ import annotations


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


KEYWORDS = _set("! [[ { } if then elif else fi while until do done for case in esac time coproc function select")

SHELLS = _set("sh bash dash zsh ksh mksh fish ash csh tcsh rbash pwsh eval source . su ssh parallel watch trap")
INTERPRETERS = _set(
    "python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit tclsh wish expect awk gawk mawk "
    "nawk sed ed ex vi vim nvim emacs m4 make java jshell scala groovy Rscript R julia ghci sqlite3 psql mysql gdb"
)
WRAPPERS = (
    SHELLS
    | INTERPRETERS
    | _set(
        "env command builtin exec nohup nice ionice chrt timeout stdbuf setsid xargs find fd fdfind busybox toybox "
        "chroot unshare nsenter flock script strace ltrace time taskset systemd-run at batch crontab sudo doas pkexec "
        "runuser run0 setpriv proot fakeroot entr uv uvx npx pipx poetry nix-shell ld.so unbuffer rlwrap"
    )
)

# What becomes somebody else. `su` is a word like others, and counts only where it is started.
ELEVATORS = _set("sudo sudoedit doas pkexec runuser run0 gosu su-exec")
# What only passes its words on, so that the word `sudo` among them is no use of it.
TALKERS = _set("cat cut echo egrep fgrep grep head ls nl printf tail tr type uniq wc whereis which")

FETCHERS = _set(
    "curl wget aria2c http https httpie lynx w3m links ftp tftp ping ping6 traceroute tracepath mtr dig nslookup host "
    "whois npx pipx uvx yt-dlp youtube-dl svn hg nmap arp-scan tcpdump speedtest gh glab aws gcloud az kubectl helm "
    "heroku vercel netlify fly flyctl terraform ansible ansible-playbook"
)
REMOTE = _set(
    "ssh scp sftp rsync nc ncat netcat socat telnet rsh rlogin rclone ssh-copy-id mosh smbclient sendmail mail"
)
_PACKAGES = "install update upgrade download add fetch search remove uninstall sync publish"
SENDING_VERBS = _set("push publish upload send-email login deploy release")
NETWORK_VERBS = {
    "git": _set("clone fetch pull push ls-remote submodule remote-update send-email archive-remote lfs"),
    "docker": _set("pull push login build run search"),
    "podman": _set("pull push login build run search"),
    "go": _set("get install mod download"),
    "twine": _set("upload"),
    "uv": _set("pip add sync lock tool run publish self"),
    "cargo": _set(f"{_PACKAGES} build run test check"),
    **{
        name: _set(f"{_PACKAGES} wheel index")
        for name in ("pip", "pip2", "pip3", "conda", "mamba", "poetry", "gem", "bundle")
    },
    **{
        name: _set(f"{_PACKAGES} i ci audit outdated create login dlx exec x")
        for name in ("npm", "pnpm", "yarn", "bun")
    },
    **{
        name: _set(f"{_PACKAGES} full-upgrade dist-upgrade source refresh tap check-update makecache")
        for name in ("apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "apk", "brew", "snap", "flatpak", "port")
    },
}  # fmt: skip

DESTROYERS = _set(
    "rm rmdir unlink shred truncate wipefs blkdiscard fdisk sfdisk sgdisk parted mkswap mke2fs kill pkill killall "
    "shutdown reboot halt poweroff init telinit userdel groupdel deluser dropdb dropuser swapoff umount badblocks"
)
DEVICE_WRITERS = _set("dd tee cp mv install shred wipefs blkdiscard mke2fs mkswap ")
DESTROYING_VERBS = {
    "git": _set("--hard clean rm restore filter-branch filter-repo prune drop clear --mirror -D expire --delete"),
    "find": _set("-delete -fprint -fprint0 -fprintf -fls"),
    "systemctl": _set("stop disable mask kill poweroff reboot halt isolate rescue emergency"),
    "docker": _set("rm rmi prune kill stop down"),
    "podman": _set("rm rmi prune kill stop down"),
    "kubectl": _set("delete drain"),
    "terraform": _set("destroy apply"),
    "crontab": _set("-r"),
    "iptables": _set("-F -X -P --flush"),
    "nft": _set("flush delete"),
    "rsync": _set("--delete --delete-after --delete-before --remove-source-files"),
    "apt": _set("purge autoremove remove"),
    "apt-get": _set("purge autoremove remove"),
    "dpkg": _set("-r -P --remove --purge"),
    "tar": _set("--remove-files"),
}
