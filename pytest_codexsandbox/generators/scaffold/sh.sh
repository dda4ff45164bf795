#!/bin/sh
# NAME CONFIG ROOTS_JSON NETWORK: puts a block of its own at the top of Codex's config.toml. Everything else stays as it
# was; where it cannot, it refuses (3) and changes nothing.
set -eu
config=$1 roots=$2 network=$3
begin='# >>> NAME >>>' end='# <<< NAME <<<'

refuse() {
    echo "NAME: $1" >&2
    exit 3
}

file=$(readlink -f "$config") || file=$config # a link stays a link
folder=$(dirname "$file")
mkdir -p "$folder"
rest=$(mktemp "$folder/.NAME.XXXXXX")
new=$(mktemp "$folder/.NAME.XXXXXX")
trap 'rm -f "$rest" "$new"' EXIT

if [ -e "$file" ]; then
    [ -f "$file" ] || refuse "$file is no file"
    [ -w "$file" ] || refuse "$file may not be written"
    [ -z "$(find "$file" -links +1)" ] || refuse "$file has a second name, which would be left behind"
    cp -p "$file" "$new" # with its mode
    sed "/^$begin\$/,/^$end\$/d" "$file" > "$rest"
    # Words that would say the same again, or keep the block from being in force.
    if grep -qE '^[[:space:]]*\[*[[:space:]]*["'\'']?(sandbox_mode|sandbox_workspace_write|default_permissions|profile)\b' "$rest"; then
        refuse "$file has a policy of its own"
    fi
    if grep -qF "$begin" "$rest" || grep -qF "$end" "$rest"; then
        refuse "$file has a part of the generator's block"
    fi
    if LC_ALL=C grep -q "$(printf '^\357\273\277\|\r')" "$rest"; then
        refuse "$file has line ends or a byte order mark that this program does not keep"
    fi
fi

{
    echo "$begin"
    echo 'sandbox_mode = "workspace-write"'
    echo "sandbox_workspace_write.writable_roots = $roots"
    [ "$network" = 1 ] && echo 'sandbox_workspace_write.network_access = true'
    [ "$network" = 0 ] && echo 'sandbox_workspace_write.network_access = false'
    echo "$end"
    cat "$rest"
} > "$new"
cmp -s "$new" "$file" || mv "$new" "$file" # at once: no reader finds half a file
