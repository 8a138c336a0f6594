#!/usr/bin/env bash
# Makes the checkout ready to run: a virtual environment with dmlgpu in it, and an adapter.
#
#   tools/setup.sh VENV EXTRA        for example: tools/setup.sh .venv dev
#
# Debian and Ubuntu packages are installed only where something is missing, as root or with sudo.
# On a machine that is ready, it looks, changes nothing and uses no network.
# PYTHON names another interpreter than python3.
set -euo pipefail

venv=${1:?usage: tools/setup.sh VENV EXTRA}
extra=${2:?usage: tools/setup.sh VENV EXTRA}
python=${PYTHON:-python3}
venv_python=$venv/bin/python
cd "$(dirname "$0")/.."

say() { echo "setup: $*"; }
fail() {
    echo "setup: $*" >&2
    exit 1
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# quietly COMMAND...: its output is shown only when it fails.
quietly() {
    "$@" >"$log" 2>&1 </dev/null || {
        tail -n 20 "$log" >&2
        return 1
    }
}

# install WHY PACKAGE...: installs Debian packages.
install() {
    local why=$1 as_root=()
    shift
    command -v apt-get >/dev/null || fail "$why, and there is no apt-get here to install $*"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            fail "$why, and there is no sudo; as root, run: apt-get install $*"
        as_root=(sudo)
        [ -z "${CI:-}" ] || as_root=(sudo -n)
        "${as_root[@]}" true || fail "$why, and sudo refused; as root, run: apt-get install $*"
    fi
    say "$why; installing $*"
    as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300
        -o APT::Update::Error-Mode=any)
    # One unreachable source must not matter while the packages can be had from another.
    quietly "${as_root[@]}" update || say "apt-get update had errors; going on"
    quietly "${as_root[@]}" install -y --no-install-recommends "$@" ||
        fail "apt-get could not install $*"
}

has_venv() { "$python" -c 'import ensurepip, venv' 2>/dev/null; }

make_venv() {
    command -v "$python" >/dev/null ||
        install "there is no $python" python3 python3-venv
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$("$python" --version) is too old; dmlgpu needs 3.11 (PYTHON=... names another)"
    if ! has_venv; then
        install "$python has no venv" "$("$python" -c \
            'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
        has_venv || fail "$python still has no venv; PYTHON=/usr/bin/python3 may have it"
    fi
    say "making $venv with $("$python" --version)"
    quietly "$python" -m venv --clear "$venv" || fail "$venv cannot be made"
}

install_package() {
    say "installing dmlgpu[$extra] into $venv"
    quietly "$venv_python" -m pip --disable-pip-version-check install -e ".[$extra]" ||
        fail "pip could not install dmlgpu[$extra]"
}

# OpenGL adapters do not count: they lack what the shaders need.
has_adapter() {
    "$venv_python" - >/dev/null 2>&1 <<'END'
import sys
import wgpu

adapters = wgpu.gpu.enumerate_adapters_sync()
sys.exit(not any(adapter.info["backend_type"] != "OpenGL" for adapter in adapters))
END
}

"$venv_python" -c '' 2>/dev/null || make_venv

stamp=$venv/.ready-$extra
state="$PWD $(cksum <pyproject.toml)"
if [ "$(cat "$stamp" 2>/dev/null)" != "$state" ]; then
    install_package
    echo "$state" >"$stamp"
fi

if ! has_adapter; then
    install "no Vulkan adapter found" libvulkan1 mesa-vulkan-drivers
    has_adapter || fail "there is still no adapter after installing mesa-vulkan-drivers"
fi
