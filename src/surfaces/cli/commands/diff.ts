/** `sluice diff`: what two runs have in common and where they part. */
import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../../../expr/parse-json.ts';
import { readRun } from '../../../runtime/journal/read.ts';
import { createNarrator } from '../../../runtime/report/narrate.ts';
import { reportOf } from '../../../runtime/report/report.ts';
import type { Store } from '../../../runtime/ports.ts';
import type { Cli } from '../context.ts';
import { findRun, withStore } from '../store.ts';
import { oneLine } from '../text.ts';

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

interface RunFacts {
  readonly run: string;
  readonly single: { readonly [what: string]: unknown };
  /** The run's story: one text per thing that a person would name. */
  readonly story: readonly string[];
}

async function factsOf(store: Store, run: string): Promise<RunFacts> {
  const read = await readRun(store.journal, run);
  const { code, output, path, approvals, usage, error } = reportOf(read);
  const narrate = createNarrator(read.program);
  const story = read.events.flatMap((event) => narrate(event).map((each) => storyOf({ ...each })));
  return {
    run,
    single: {
      flow: read.program.flow.hash,
      input: read.state.input,
      path,
      approvals,
      code,
      output,
      error,
      usage: countsOf({ ...usage }),
    },
    story,
  };
}

/** Times differ between any two runs, and ids do too. */
function storyOf(event: { readonly [field: string]: unknown }): string {
  const { seq: _seq, at: _at, durationMs: _ms, id: _id, key: _key, ...rest } = event;
  return JSON.stringify(rest);
}

function countsOf({ wallClockSeconds: _seconds, ...counts }: { readonly [dimension: string]: unknown }): object {
  return counts;
}

function differencesOf(a: RunFacts, b: RunFacts) {
  const single = Object.keys(a.single).flatMap((what) =>
    isDeepStrictEqual(a.single[what], b.single[what]) ? [] : [{ what, a: a.single[what], b: b.single[what] }],
  );
  const at = a.story.findIndex((line, index) => line !== b.story[index]);
  const parts = at >= 0 ? at : a.story.length === b.story.length ? null : a.story.length;
  if (parts === null) return single;
  return [...single, { what: `first difference (${parts + 1})`, a: read(a.story[parts]), b: read(b.story[parts]) }];
}

function read(line: string | undefined): unknown {
  return line === undefined ? null : parseJson(line);
}

function shown(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? 'nothing', 300);
}
