/** The examples of teams: compiled as they are, and played with their scripts in a fresh work directory. */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMemory } from '@sluice-internal/engine/memory';
import { compile } from '@sluice-internal/notations/driver';
import type { Diagnostic } from '@sluice-internal/compile/source';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { replay } from '@sluice-internal/engine/audit';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import type { Report, Store } from '@sluice-internal/engine/ports';
import { createRuntime } from '@sluice-internal/engine/worker';
import type { Replay } from '../../packages/engine/src/audit/audit.ts';
import { INPUT, exampleDocument, exampleScript, layOut } from './team-example-files.ts';
import { world } from './team-world.ts';

export function compileExample(name: string): {
  readonly flow: CompiledFlow;
  readonly diagnostics: readonly Diagnostic[];
} {
  const { file, text } = exampleDocument(name);
  const { flow, diagnostics } = compile(text, { file, hash: (part) => hash('sha256', part, 'hex') });
  return { flow: flow as CompiledFlow, diagnostics };
}

export interface Played {
  readonly report: Report;
  readonly replayed: Replay;
  /** Checks that said no, in order. */
  readonly refusals: readonly { readonly check: string }[];
  /** Exit codes of the commands that were run, in order. */
  readonly exits: readonly number[];
}

export async function playExample(name: string, flow: CompiledFlow): Promise<Played> {
  const workDir = mkdtempSync(join(tmpdir(), 'sluice-example-'));
  layOut(name, workDir);
  const store: Store = openMemory();
  const engine = createRuntime({
    store: { ...store, close: () => Promise.resolve() },
    performer: world(exampleScript(name), workDir),
    clock: createVirtualClock(),
    pickUp: false,
  });
  try {
    const run = await engine.start(flow, { input: INPUT, seed: 1 });
    const report = await engine.settled(run);
    const names = new Map<string, string>();
    const refusals: { check: string }[] = [];
    const exits: number[] = [];
    for await (const event of engine.events(run, { live: false })) {
      if (event.type === 'effect.requested') names.set(event.key, event.name);
      if (event.type !== 'effect.settled' || !event.result.ok) continue;
      const value = event.result.value as { readonly ok?: boolean; readonly exitCode?: number } | null;
      if (value?.ok === false) refusals.push({ check: names.get(event.key) ?? '' });
      if (typeof value?.exitCode === 'number') exits.push(value.exitCode);
    }
    return { report, replayed: await replay(store.journal, run), refusals, exits };
  } finally {
    await engine.close();
    rmSync(workDir, { recursive: true, force: true });
  }
}
