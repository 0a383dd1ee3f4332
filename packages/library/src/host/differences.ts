/** How two runs differ: their input, answers, results and amounts, and the first event that is not the same. */
import { reportOf, storyOf } from '@sluice-internal/engine/report';
import type { CompiledFlow, Event, RunState } from '@sluice-internal/kernel/ir';
import type { Program } from '@sluice-internal/kernel/core';
import { isDeepStrictEqual } from 'node:util';

export interface Compared {
  readonly a: string;
  readonly b: string;
  readonly same: boolean;
  readonly differences: readonly { readonly what: string; readonly a: unknown; readonly b: unknown }[];
}
interface Read {
  readonly program: Program;
  readonly state: RunState;
  readonly events: readonly Event[];
}

export function differencesOf(a: Read, b: Read): Compared {
  const differences = found(factsOf(a), factsOf(b));
  return { a: a.state.run, b: b.state.run, same: differences.length === 0, differences };
}

interface Facts {
  readonly single: { readonly [what: string]: unknown };
  readonly story: readonly object[];
}

function factsOf(read: Read): Facts {
  const { code, output, path, approvals, error, usage } = reportOf(read);
  const { wallClockSeconds: _, ...counts } = usage;
  const { flow }: { readonly flow: CompiledFlow } = read.program;
  const single = { flow: flow.hash, input: read.state.input, path, approvals, code, output, error, usage: counts };
  return { single, story: storyOf(read).map(comparable) };
}

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

function found(a: Facts, b: Facts): Compared['differences'] {
  const single = Object.keys(a.single).flatMap((what) =>
    isDeepStrictEqual(a.single[what], b.single[what]) ? [] : [{ what, a: a.single[what], b: b.single[what] }],
  );
  const at = a.story.findIndex((event, index) => !isDeepStrictEqual(event, b.story[index]));
  const place = at >= 0 ? at : a.story.length === b.story.length ? null : a.story.length;
  if (place === null) return single;
  return [...single, { what: `first difference (${place + 1})`, a: a.story[place] ?? null, b: b.story[place] ?? null }];
}
