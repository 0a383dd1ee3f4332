/** Calls a tool as the engine does, without an engine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { toolPerformer } from '../../../library/src/host/performer.ts';
import type { ToolOptions } from '@sluice-internal/tools/calls';
import type { CompiledFlow, ToolDef } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { failureOf, realClock } from '@sluice-internal/engine/ports';
import type { Call, Performer } from '@sluice-internal/engine/ports';

export interface Asking {
  readonly tool?: Partial<ToolDef>;
  readonly key?: string;
  readonly signal?: AbortSignal;
  readonly result?: Json;
}
export type Outcome =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly class: string; readonly type: string; readonly message: string };
export type Ask = (name: string, args?: Json, asking?: Asking) => Promise<Outcome>;

const DEF: ToolDef = {
  description: '',
  input: true,
  output: true,
  effect: 'write',
  implementation: null,
  timeoutMs: 20_000,
  permission: '',
  idempotent: false,
  compensate: null,
};
let calls = 0;

/** A folder of its own, gone after the test. */
export function freshDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-tools-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export function tools(options: Partial<ToolOptions> = {}): {
  readonly dir: string;
  readonly ask: Ask;
  readonly performer: ReturnType<typeof toolPerformer>;
} {
  const dir = typeof options.workDir === 'string' ? options.workDir : freshDir();
  const performer = toolPerformer({ workDir: dir, ...options });
  onTestFinished(() => performer.close());
  return { dir, performer, ask: asking(performer) };
}

function asking(performer: Performer): Ask {
  return async (name, args = {}, options = {}) => {
    try {
      const settled = await performer.perform(callOf(name, args, options));
      return settled.ok ? { ok: true, value: settled.value } : { ok: false, ...settled.error };
    } catch (error) {
      return { ok: false, ...failureOf(error) };
    }
  };
}

export function callOf(name: string, args: Json, { tool, key, signal, result }: Asking): Call {
  const id = `0#${(calls += 1)}`;
  const flow = {
    tools: tool === undefined ? {} : { [name]: { ...DEF, ...tool } },
    agents: {},
    models: {},
  } as unknown as CompiledFlow;
  return {
    command: {
      run: 'r_test',
      key: id,
      attempt: 1,
      ordinal: 0,
      kind: 'tool',
      name,
      node: 'n',
      input: result === undefined ? { args } : { args, result },
      notBefore: 0,
      deadline: null,
    },
    flow,
    idempotencyKey: key ?? id,
    signal: signal ?? new AbortController().signal,
    clock: realClock,
  };
}
