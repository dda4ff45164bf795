# Shared by the steps of the gate: the work folder, the environment, and the words that a step may use. Sourced.
here=$PWD
began=$SECONDS
work=$(mktemp -d "${CODEXSANDBOX_CI_DIR:-${HOME:?}}/.codexsandbox-ci.XXXXXX")
bin=$here/.venv/bin
engine=
export CODEXSANDBOX_CACHE=${CODEXSANDBOX_CACHE:-$work/cache}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
export CODEXSANDBOX_NEED_REGISTRIES=1 CODEXSANDBOX_NEED_DOCKER=1 CODEXSANDBOX_SECOND_TRY=1
done_steps=0

# The work folder goes, and so does an engine that the gate started.
clean_up() {
  cd /
  if [ -n "$engine" ]; then kill "$engine" 2>/dev/null || true; wait "$engine" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap clean_up EXIT

die() { printf 'gate: %s\n' "$1" >&2; exit 1; }
# must FILE TEXT: the output of a step shows that the step really did its work.
must() { grep -qE -- "$2" "$1" || die "the output of this step lacks: $2"; }
# must_not FILE TEXT WHY
must_not() { if grep -qE -- "$2" "$1"; then die "$3"; fi; }
# The command that stands in the README behind the words "# $1".
from_readme() { sed -n "s/^\(.*[^ ]\)  *# $1\$/\1/p" README.md | head -n 1; }
# expect CODE COMMAND...: runs the command, which must end with that exit code.
expect() {
  local wanted=$1 code=0
  shift
  "$@" || code=$?
  [ "$code" = "$wanted" ] || die "exit code $code, where $wanted was expected"
}

# step NAME TITLE: runs ci/steps/NAME in this shell, from the checkout.
step() {
  printf '\n=== %s (%d s) ===\n' "$2" $((SECONDS - began))
  cd "$here"
  . "ci/steps/$1"
  done_steps=$((done_steps + 1))
}

# Every file of ci/steps was run. The last line is pytest's own.
finish() {
  cd "$here"
  [ "$done_steps" = "$(find ci/steps -type f | wc -l)" ] || die "$done_steps steps ran, and ci/steps holds others"
  sed -n 's/^NOT TRIED/gate: &/p' "$work/bares.txt"
  printf 'gate: green after %d s\n' $((SECONDS - began))
  tail -n 1 "$work/tests.txt"
}
