#!/usr/bin/env bash
# Fetches three software Vulkan drivers into a folder, without installing anything system-wide.
#
#   tools/drivers.sh [FOLDER]        FOLDER is .drivers in the checkout unless given
#
# Each driver then has FOLDER/<name>/icd.json, and one variable selects it:
#
#   VK_DRIVER_FILES=$PWD/.drivers/lavapipe-25.0/icd.json python -m dmlgpu demo
#
# Vulkan loaders before 1.3.207 (Ubuntu 22.04) know only the older name, VK_ICD_FILENAMES.
#
# The drivers are packages of Debian 12 and its backports, read through a private apt
# configuration. The Debian mirror is the one the machine's apt uses; on a machine without one, set
# DMLGPU_DEBIAN_MIRROR to the URL of a mirror and install the package debian-archive-keyring.
set -euo pipefail

DRIVERS="lavapipe-22.3 lavapipe-25.0 swiftshader"
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
# Every Debian or Ubuntu that runs apt and python3 has these, so the drivers use the system's:
# a second copy in the process could be older than what Python itself was linked with.
SYSTEM_PACKAGES="libc6 libgcc-s1 libstdc++6 zlib1g libzstd1 liblzma5 libexpat1 python3"

checkout=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:-$checkout/.drivers}"
folder=$(cd "${1:-$checkout/.drivers}" && pwd)

say() { echo "drivers: $*"; }
fail() {
    echo "drivers: $*" >&2
    exit 1
}

missing=""
for name in $DRIVERS; do
    # The path inside is absolute, so a checkout that was moved fetches again.
    grep -qsF "\"$folder/$name/" "$folder/$name/icd.json" || missing="$missing $name"
done
if [ -z "$missing" ]; then
    say "all in $folder"
    exit 0
fi
for tool in apt-get dpkg dpkg-deb ldd; do
    command -v "$tool" >/dev/null || fail "$tool is missing; a Debian or Ubuntu system is needed"
done
[ -f "$KEYRING" ] || fail "$KEYRING is missing; install the package debian-archive-keyring"

apt_root=$folder/apt
arch=$(dpkg --print-architecture)
mkdir -p "$apt_root/state/lists/partial" "$apt_root/cache/archives/partial"
for package in $SYSTEM_PACKAGES; do
    printf 'Package: %s\nStatus: install ok installed\nVersion: 9999:1\n' "$package"
    printf 'Architecture: %s\n' "$arch"
    # Other packages ask for python3:any, which only a package so marked can satisfy.
    case $package in python3) echo 'Multi-Arch: allowed' ;; *) echo 'Multi-Arch: same' ;; esac
    printf 'Maintainer: none\nDescription: of the system\n\n'
done >"$apt_root/status"

private_apt() {
    local command=$1
    shift
    "$command" -qq \
        -o Dir::Etc::SourceList="$apt_root/sources.list" \
        -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
        -o Dir::State="$apt_root/state" -o Dir::State::status="$apt_root/status" \
        -o Dir::Cache="$apt_root/cache" -o Debug::NoLocking=1 \
        -o APT::Sandbox::User="$(id -un)" -o APT::Install-Recommends=0 \
        -o Acquire::Check-Valid-Until=false -o Acquire::Retries=3 "$@"
}

mirrors() {
    if [ -n "${DMLGPU_DEBIAN_MIRROR:-}" ]; then
        echo "$DMLGPU_DEBIAN_MIRROR"
    else
        # shellcheck disable=SC2016  # apt expands these, not the shell
        apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | awk '!seen[$0]++'
    fi
}

use_mirror() {
    local suite
    for suite in bookworm bookworm-backports; do
        echo "deb [signed-by=$KEYRING] $1 $suite main"
    done >"$apt_root/sources.list"
    private_apt apt-get update >"$apt_root/log" 2>&1 || return 1
    private_apt apt-cache show mesa-vulkan-drivers/bookworm-backports >/dev/null 2>&1
}

found=""
for mirror in $(mirrors); do
    if use_mirror "$mirror"; then
        found=$mirror
        break
    fi
done
[ -n "$found" ] ||
    fail "no Debian mirror with bookworm-backports answers; set DMLGPU_DEBIAN_MIRROR to one's URL"

# unpack ROOT APT-ARGUMENTS...: downloads what an installation would add, and unpacks it in ROOT.
unpack() {
    local root=$1
    shift
    rm -f "$apt_root"/cache/archives/*.deb
    private_apt apt-get install -y --download-only "$@" >"$apt_root/log" 2>&1 ||
        fail "apt could not download $*: $(tail -n 1 "$apt_root/log")"
    unpack_debs "$root" "$apt_root"/cache/archives/*.deb
}

# unpack_one ROOT PACKAGE: the package without what it depends on.
unpack_one() {
    rm -f "$apt_root"/*.deb
    (cd "$apt_root" && private_apt apt-get download "$2" >"$apt_root/log" 2>&1) ||
        fail "apt could not download $2: $(tail -n 1 "$apt_root/log")"
    unpack_debs "$1" "$apt_root"/*.deb
}

unpack_debs() {
    local root=$1 deb
    shift
    rm -rf "$root"
    mkdir -p "$root"
    for deb in "$@"; do
        dpkg-deb -x "$deb" "$root"
    done
}

# install_driver NAME ROOT LIBRARY JSON: the library, what it needs of ROOT, and its icd.json.
install_driver() {
    local target=$folder/$1 root=$2 library json lib_path needed
    library=$(find "$root" -name "$3" -type f)
    json=$(find "$root" -name "$4" -type f)
    [ -n "$library" ] || fail "$1: the package has no $3"
    [ -n "$json" ] || fail "$1: the package has no $4"
    rm -rf "$target"
    mkdir -p "$target"
    cp "$library" "$target/$3"
    lib_path=$(find "$root" -type d -name '*-linux-gnu*' | paste -sd: -)
    LD_LIBRARY_PATH=$lib_path ldd "$target/$3" >"$apt_root/log"
    ! grep 'not found' "$apt_root/log" >&2 || fail "$1: the libraries above cannot be had"
    awk -v root="$root/" 'index($3, root) == 1 { print $3 }' "$apt_root/log" |
        while read -r needed; do cp -L "$needed" "$target/"; done
    # An RPATH keeps these libraries to the driver; LD_LIBRARY_PATH would give them to Python too.
    for needed in "$target"/*.so*; do
        "$apt_root/patchelf/usr/bin/patchelf" --set-rpath "\$ORIGIN" "$needed"
    done
    sed "s|\"library_path\": *\"[^\"]*\"|\"library_path\": \"$target/$3\"|" "$json" \
        >"$target/icd.json"
    say "$1: $target/icd.json"
}

unpack "$apt_root/patchelf" patchelf
root=$apt_root/root
for name in $missing; do
    say "fetching $name"
    case $name in
        lavapipe-22.3)
            unpack "$root" mesa-vulkan-drivers/bookworm
            install_driver "$name" "$root" libvulkan_lvp.so 'lvp_icd*.json'
            ;;
        lavapipe-25.0)
            unpack "$root" -t bookworm-backports mesa-vulkan-drivers
            install_driver "$name" "$root" libvulkan_lvp.so 'lvp_icd*.json'
            ;;
        swiftshader)
            unpack_one "$root" chromium-common
            install_driver "$name" "$root" libvk_swiftshader.so vk_swiftshader_icd.json
            ;;
    esac
done
rm -rf "$apt_root"
