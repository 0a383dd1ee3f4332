/** Asks a check as the engine does, over files that are really there and observations as the journal has them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { evidencePerformer } from '../../src/evidence/performer.ts';
import type { EvidenceOptions, Observation } from '../../src/evidence/evidence.ts';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { realClock } from '@sluice-internal/engine/ports';

export interface Case {
  /** Files on disk beside those that the observations wrote. */
  readonly files?: { readonly [path: string]: Json };
  readonly observations?: readonly Observation[];
  /** Written files that are no longer on disk. */
  readonly gone?: readonly string[];
  readonly turn?: number;
  readonly agent?: string;
  readonly config?: { readonly [field: string]: Json };
  readonly response?: string;
  readonly failures?: number;
  /** Further fields of the check's input. */
  readonly input?: { readonly [field: string]: Json };
  readonly options?: Partial<EvidenceOptions>;
}
export type Answer = {
  readonly ok: boolean;
  readonly reason: string;
  readonly failure?: string;
  readonly evidence: string[];
};

export async function check(
  name: string,
  {
    files = {},
    observations = [],
    gone = [],
    turn = 1,
    agent = 'Dev',
    config = {},
    response,
    failures,
    input: more = {},
    options = {},
  }: Case,
): Promise<Answer> {
  const workDir = workDirWith({ ...writtenBy(observations, gone), ...files });
  const input = {
    ...more,
    observations: observations as unknown as Json,
    turn,
    agent,
    config: withRequirement(name, config),
    ...(response === undefined ? {} : { message: response }),
    ...(failures === undefined ? {} : { failures }),
  };
  const settled = await evidencePerformer({ workDir, ...options }).perform({
    command: {
      run: 'r_test',
      key: '0#1',
      attempt: 1,
      ordinal: 0,
      kind: 'check',
      name,
      node: 'n',
      input,
      notBefore: 0,
      deadline: null,
    },
    flow: {} as CompiledFlow,
    idempotencyKey: 'k',
    signal: new AbortController().signal,
    clock: realClock,
  });
  if (!settled.ok) throw new Error(settled.error.message);
  return settled.value as unknown as Answer;
}

/** The name of a predicate is a contract that requires it. */
function withRequirement(name: string, config: NonNullable<Case['config']>): { readonly [field: string]: Json } {
  const Type = name.slice('contract:'.length);
  return name.startsWith('contract:') ? { Requires: [{ Type }], ...config } : { ...config };
}

/** The files that are on disk after the observed calls. */
function writtenBy(observations: readonly Observation[], gone: readonly string[]): { [path: string]: Json } {
  const files: { [path: string]: Json } = {};
  for (const { tool, args, ok, result } of observations) {
    const path = String(args['path'] ?? '').replace(/^\/workspace\//, '');
    const done = ok && path !== '' && typeof result !== 'string';
    if (done && (tool === 'write_file' || tool === 'patch_file')) files[path] = args['content'] ?? '';
    if (done && tool === 'delete_file') delete files[path];
  }
  for (const path of gone) delete files[path];
  return files;
}

export function workDirWith(files: { readonly [path: string]: Json }): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-evidence-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return dir;
}

let made = 0;
export function observed(tool: string, args: { [field: string]: Json }, rest: Partial<Observation> = {}): Observation {
  return { id: `o${(made += 1)}`, turn: 1, agent: 'Dev', tool, args, ok: true, result: null, ...rest };
}
export const wrote = (path: string, rest: Partial<Observation> = {}): Observation =>
  observed('write_file', { path, content: '' }, { result: { path }, ...rest });
export const ran = (
  command: string,
  exitCode = 0,
  rest: Partial<Observation> & { stdout?: string } = {},
): Observation => {
  const { stdout = '', ...own } = rest;
  return observed('shell_run', { command }, { result: { exitCode, stdout, stderr: '', truncated: false }, ...own });
};

export const BRIEF = '.fuseraft/artifacts/brief.json';
export const REPORT = '.fuseraft/artifacts/test-report.json';
