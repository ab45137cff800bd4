# Sourced by the commands of this folder: what they need and do alike. Installs Debian packages that are missing, as root or
# through sudo, and nothing when all are there.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null  # nothing here asks anything

JOBS="${JOBS:-$(nproc)}"

BUILD_PACKAGES=(
  cmake ninja-build g++ ccache
  libeigen3-dev libfmt-dev libcli11-dev nlohmann-json3-dev libpugixml-dev librapidcheck-dev
)
TEST_PACKAGES=(libgtest-dev libgmock-dev python3 python3-venv procps)
CHECK_PACKAGES=(clang-format-14 clang-tidy-14)

installed() { [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]; }

# install_missing PACKAGE...
install_missing() {
  local missing=() package as_root=()
  for package in "$@"; do installed "$package" || missing+=("$package"); done
  [[ ${#missing[@]} -eq 0 ]] && return 0
  [[ $(id -u) -eq 0 ]] || as_root=(sudo)
  echo "installing: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# build FOLDER TARGET [CMAKE-OPTION]...: Release unless an option says otherwise; unchanged files come from ccache.
build() {
  local folder="$1" target="$2"
  shift 2
  cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@" >"$folder.configure.log" 2>&1 ||
    { cat "$folder.configure.log"; return 1; }
  rm -f "$folder.configure.log"
  cmake --build "$folder" --target "$target" -j "$JOBS" -- --quiet
}

headline() { printf '\n== %s\n' "$*"; }
