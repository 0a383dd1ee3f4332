#!/bin/sh
# Runs every test beside this file; the first that fails ends it.
set -e
for test in tests/*_test.sh; do
  sh "$test"
  echo "ok $test"
done
