#!/bin/sh
assert() { [ "$1" = "$2" ] || { echo "expected '$2', got '$1'"; exit 1; }; }
assert "$(sh greet.sh Ann)" "Hello, Ann."
