# Sourced by tests/*/run: starts the runner for one suite.

# suite NAME DEFAULT-PATH... -- ARGUMENT...
# Without a path among the arguments, the default paths that exist are used.
suite() {
    SMELT_ROOT=$(cd "$(dirname "$0")/../.." && pwd)
    export SMELT_ROOT
    case ${BUILD:=build} in
    /*) runner=$BUILD/tests/runner ;;
    *) runner=$SMELT_ROOT/$BUILD/tests/runner ;;
    esac
    if [ ! -x "$runner" ]; then
        echo "$runner is missing: run \`make all test-programs\` first" >&2
        exit 3
    fi
    name=$1
    defaults=
    shift
    while [ "$1" != -- ]; do
        [ ! -e "$SMELT_ROOT/$1" ] || defaults="$defaults $1"
        shift
    done
    shift
    for argument in "$@"; do
        [ "$argument" = --update ] || defaults=
    done
    if [ -n "$defaults" ]; then
        cd "$SMELT_ROOT" || exit 3
        # shellcheck disable=SC2086
        set -- "$@" $defaults
    fi
    BUILD=$BUILD exec "$runner" "$name" "$@"
}
