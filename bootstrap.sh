#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up everything that kfactory needs on a Debian or Ubuntu machine with a CUDA toolkit, builds it, and runs
#   ./bootstrap.sh demo    the main job: the bundled RMSNorm spec, replayed from a recorded run
#   ./bootstrap.sh test    all tests
#   ./bootstrap.sh build   just the portable binary: build/portable/bin/kfactory
# Works as root or through sudo, and again when run twice. It needs no GPU, no key and, once the packages are
# there, no network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

PACKAGES=(g++ cmake ninja-build python3 libcli11-dev nlohmann-json3-dev libspdlog-dev libfmt-dev libtomlplusplus-dev
  libsqlite3-dev libsqlitecpp-dev libcurl4-openssl-dev libmd-dev libgtest-dev libgmock-dev libbenchmark-dev)

say() { printf '\n== %s\n' "$*"; }
die() { printf 'bootstrap.sh: %s\n' "$*" >&2; exit 1; }

as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "packages are missing and this is neither root nor is sudo installed. As root, run: apt-get install ${PACKAGES[*]}"
  fi
}

install_packages() {
  command -v dpkg-query >/dev/null || die "this is not Debian or Ubuntu. Install the equivalents of: ${PACKAGES[*]}; then use cmake --preset portable"
  local missing=()
  for package in "${PACKAGES[@]}"; do
    [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == *"ok installed" ]] || missing+=("$package")
  done
  if [[ ${#missing[@]} == 0 ]]; then
    say "packages: all there"
    return
  fi
  say "installing with apt-get: ${missing[*]}"
  as_root apt-get update -q
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}

find_toolkit() {
  local root
  for root in "${KFACTORY_CUDA_ROOT:-}" "${CUDA_PATH:-}" "${CUDA_HOME:-}" /usr/local/cuda; do
    if [[ -n $root && -e $root/include/cuda.h ]]; then
      say "CUDA toolkit: $root"
      export CUDA_PATH=$root
      return
    fi
  done
  die "no CUDA toolkit found (looked at KFACTORY_CUDA_ROOT, CUDA_PATH, CUDA_HOME, /usr/local/cuda for include/cuda.h). Install CUDA 13.0, or set CUDA_PATH to its folder."
}

build() {  # PRESET [TARGET...]
  local preset=$1
  shift
  say "configure and build, preset $preset (the first time takes some minutes)"
  cmake --preset "$preset" >"build-$preset.log" 2>&1 || { cat "build-$preset.log"; rm -f "build-$preset.log"; die "configure failed"; }
  rm -f "build-$preset.log"
  cmake --build --preset "$preset" ${1:+--target "$@"}
}

demo() {
  build portable kfactory
  local out
  out=$(mktemp -d "${TMPDIR:-/tmp}/kfactory-demo.XXXXXX")
  say "kfactory run specs/rmsnorm_fwd.json, its proposals replayed from specs/transcripts/rmsnorm_fwd.jsonl"
  local code=0
  build/portable/bin/kfactory run specs/rmsnorm_fwd.json --replay specs/transcripts/rmsnorm_fwd.jsonl --out "$out/run" "$@" || code=$?
  say "the leader board (kfactory show)"
  build/portable/bin/kfactory show "$out/run"
  say "everything is in $out/run"
  # 3: nothing beat the baseline, or no device to run on; both are an honest end of a demo.
  [[ $code == 0 || $code == 3 ]] || exit "$code"
}

run_tests() {
  build dev
  local gpu
  gpu=$(ctest --preset dev -L '^gpu$' -N | sed -n 's/^Total Tests: //p')
  say "ctest: ${gpu:-0} of the tests need a GPU; without one they skip themselves and are listed as skipped"
  ctest --preset dev "$@"
}

case "${1:-}" in
  demo) shift; install_packages; find_toolkit; demo "$@" ;;
  test) shift; install_packages; find_toolkit; run_tests "$@" ;;
  build) install_packages; find_toolkit; build portable kfactory ;;
  *) sed -n '3,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
