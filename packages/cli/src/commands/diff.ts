/** `sluice diff`: the differences between two runs. */
import { isDeepStrictEqual } from 'node:util';
import { readRun } from '@sluice-internal/engine/journal';
import { reportOf, storyOf } from '@sluice-internal/engine/report';
import type { Store } from '@sluice-internal/engine/ports';
import { oneLine } from '@sluice-internal/library/documents';
import type { Cli } from '@sluice-internal/library/documents';
import { findRun, withStore } from '../session/store.ts';

/** Exit 0 also where they differ: that is the result, not a failure. */
export async function diffCommand(cli: Cli, first: string, second: string): Promise<void> {
  const [a, b] = await withStore(
    cli,
    async (store) =>
      [
        await factsOf(store, await findRun(cli, store, first)),
        await factsOf(store, await findRun(cli, store, second)),
      ] as const,
  );
  const differences = differencesOf(a, b);
  const lines = differences.map(({ what, a: one, b: other }) => `${what}\n  - ${shown(one)}\n  + ${shown(other)}`);
  cli.show(
    { a: a.run, b: b.run, same: lines.length === 0, differences },
    () => lines.join('\n') || 'the runs are the same',
  );
}

async function factsOf(store: Store, run: string) {
  const read = await readRun(store.journal, run);
  const { code, output, path, approvals, error, usage } = reportOf(read);
  const { wallClockSeconds: _, ...counts } = usage;
  const { input } = read.state;
  const single = { flow: read.program.flow.hash, input, path, approvals, code, output, error, usage: counts };
  return { run, single: single as { readonly [what: string]: unknown }, story: storyOf(read).map(comparable) };
}
type RunFacts = Awaited<ReturnType<typeof factsOf>>;

/** Times differ between any two runs, and ids do too. */
function comparable(event: object): object {
  const {
    seq: _seq,
    at: _at,
    durationMs: _ms,
    question: _id,
    ...rest
  } = event as { readonly [field: string]: unknown };
  return rest;
}

function differencesOf(a: RunFacts, b: RunFacts) {
  const single = Object.keys(a.single).flatMap((what) =>
    isDeepStrictEqual(a.single[what], b.single[what]) ? [] : [{ what, a: a.single[what], b: b.single[what] }],
  );
  const at = a.story.findIndex((event, index) => !isDeepStrictEqual(event, b.story[index]));
  const parts = at >= 0 ? at : a.story.length === b.story.length ? null : a.story.length;
  if (parts === null) return single;
  const sides = { a: a.story[parts] ?? null, b: b.story[parts] ?? null };
  return [...single, { what: `first difference (${parts + 1})`, ...sides }];
}

function shown(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? 'nothing', 300);
}
