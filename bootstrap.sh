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
  for root in "${KFACTORY_CUDA_ROOT:-}" "${CUDA_PATH:-}" "${CUDA_HOME:-}" /usr/local/cuda /usr/local/cuda-1[3-9]*; do
    if [[ -n $root && -e $root/include/cuda.h ]]; then
      say "CUDA toolkit: $root"
      export CUDA_PATH=$root
      return
    fi
  done
  die "no CUDA toolkit found (looked at KFACTORY_CUDA_ROOT, CUDA_PATH, CUDA_HOME, /usr/local/cuda, /usr/local/cuda-13.0 for include/cuda.h). Install CUDA 13.0, or set CUDA_PATH to its folder."
}

build() {  # PRESET [TARGET...]
  local preset=$1 log
  shift
  log=$(mktemp "${TMPDIR:-/tmp}/kfactory-configure.XXXXXX")
  say "configure and build into build/$preset (the first time takes minutes: more than 300 files)"
  cmake --preset "$preset" >"$log" 2>&1 || { cat "$log"; rm -f "$log"; die "configure failed"; }
  rm -f "$log"
  cmake --build --preset "$preset" ${1:+--target "$@"}
}

demo() {  # [further flags of kfactory run]
  local transcript=specs/transcripts/rmsnorm_fwd.jsonl out code=0 shown
  [[ -e $transcript ]] || die "the recorded run $transcript is not in this checkout"
  build portable kfactory
  out=$(mktemp -d "${TMPDIR:-/tmp}/kfactory-demo.XXXXXX")
  shown="build/portable/bin/kfactory run specs/rmsnorm_fwd.json --replay $transcript --out $out/run"
  say "$shown $*"
  build/portable/bin/kfactory run specs/rmsnorm_fwd.json --replay "$transcript" --out "$out/run" "$@" || code=$?
  # 3: nothing beat the baseline, or no device to run on; both are an honest end of a demo.
  [[ $code == 0 || $code == 3 ]] || exit "$code"
  say "everything is in $out/run; look closer with
   build/portable/bin/kfactory show $out/run          the leader board
   build/portable/bin/kfactory show $out/run 1        one attempt's story: why it was refused, or how fast it is
   ls $out/run/winners/*                              kernel.cu, evidence.json, README.md"
}

# What ctest's own summary does not say: how many wait for a GPU. Test names are read from the log of this run.
summary() {  # LOG
  local ran skipped gpu
  ran=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*(Passed|Failed|Timeout|Exception|Not Run)' "$1" || true)
  skipped=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*Skipped' "$1" || true)
  gpu=$(ctest --preset dev -L '^gpu$' -N | sed -n 's/^Total Tests: //p')
  say "$ran tests ran, $skipped were skipped. ${gpu:-0} need a GPU: they skip themselves where there is none; on a GPU
   machine set KFACTORY_REQUIRE_GPU=1, and one that skips counts as failed."
}

run_tests() {  # [further flags of ctest]
  local log code=0
  build dev
  log=$(mktemp "${TMPDIR:-/tmp}/kfactory-tests.XXXXXX")
  say "ctest --preset dev $*"
  ctest --preset dev "$@" 2>&1 | tee "$log" || code=$?
  summary "$log"
  rm -f "$log"
  exit "$code"
}

case "${1:-}" in
  demo) shift; install_packages; find_toolkit; demo "$@" ;;
  test) shift; install_packages; find_toolkit; run_tests "$@" ;;
  build) install_packages; find_toolkit; build portable kfactory; say "built: build/portable/bin/kfactory" ;;
  -h | --help | help) sed -n '3,8s/^# \{0,1\}//p' "$0" ;;
  *) sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
