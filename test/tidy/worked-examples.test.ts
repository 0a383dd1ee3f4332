/**
 * The worked examples of CONTRIBUTING.md, applied to a copy of the packages: the copy compiles, the new things work through the
 * command line, and each change touches no more files than it may.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type * as Ports from '@sluice-internal/engine/ports';
import type * as Core from '@sluice-internal/kernel/core';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type * as Library from '@sluice-internal/library';
import type * as Main from '../../packages/cli/src/main.ts';
import { sluice } from '../../packages/cli/test/cli/in-process.ts';
import { steadyFolder } from '../support/steady-folder.ts';
import { linkModules } from './mini-project.ts';
import { packageNames, read, root } from './tree.ts';

const EXAMPLES = ['Add a node type', 'Add a team strategy', 'Add a control', 'Add a budget dimension'] as const;
const dir = steadyFolder('sluice-examples');

beforeAll(() => {
  const packages = packageNames().flatMap((name) =>
    ['src', 'package.json', 'tsconfig.json'].map((path) => `packages/${name}/${path}`),
  );
  for (const path of [...packages, 'package.json', 'tsconfig.base.json'])
    cpSync(join(root, path), join(dir, path), { recursive: true });
  linkModules(dir, packageNames());
  for (const example of EXAMPLES) {
    const { created, changed } = changesIn(example);
    for (const [path, text] of created) write(path, text);
    for (const { path, before, after } of changed) {
      const text = readFileSync(join(dir, path), 'utf8');
      if (text.split(before).length !== 2) throw new Error(`${path} must have these lines once:\n${before}`);
      write(
        path,
        text.replace(before, () => after),
      );
    }
  }
}, 60_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('files touched outside of the new file', () => {
  test.each([
    ['Add a node type', 1],
    ['Add a team strategy', 2],
    ['Add a control', 1],
    ['Add a budget dimension', 1],
  ] as const)('%s: at most %i', (example, most) => {
    const { created, changed } = changesIn(example);
    const touched = new Set(changed.map(({ path }) => path));
    expect(touched.size).toBeLessThanOrEqual(most);
    expect(created.size + touched.size).toBeGreaterThan(0);
  });
});

test('the copy compiles', { timeout: 240_000 }, () => {
  const { stdout, status } = node([
    join(dir, 'node_modules/typescript/bin/tsc'),
    '-b',
    'packages/cli',
    '--singleThreaded',
  ]);
  expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
});

test('the node type runs', { timeout: 60_000 }, async () => {
  const flow = {
    id: 'f',
    entry: 'n',
    nodes: [
      { id: 'n', type: 'count', of: '{{ event.payload.items }}', routes: [{ when: 'default', to: 'done' }] },
      { id: 'done', type: 'terminal', output: '{{ n.output }}' },
    ],
  };
  expect(await run({ flow }, {}, { items: ['a', 'b', 'c'] })).toMatchObject({ code: 'SUCCESS', output: 3 });
});

test('the strategy runs', { timeout: 60_000 }, async () => {
  const Orchestration = {
    Name: 't',
    Agents: ['First', 'Second'].map((Name) => ({ Name, Instructions: 'Speak.' })),
    Selection: { Type: 'Reverse' },
  };
  const script = { agents: { First: [{ text: 'one' }], Second: [{ text: 'two' }] } };
  expect(await run({ Orchestration }, script, 'go')).toMatchObject({ code: 'SUCCESS', path: ['Second', 'First'] });
  const { Selection: _, ...plain } = Orchestration;
  expect(await run({ Orchestration: plain }, script, 'go')).toMatchObject({ path: ['First', 'Second'] });
});

test('the control judges by the recorded time, also after an answer', { timeout: 60_000 }, async () => {
  const from = async <Module>(path: string): Promise<Module> =>
    (await import(pathToFileURL(join(dir, 'packages', path)).href)) as Module;
  const { compile } = await from<typeof Library>('library/src/index.ts');
  const { createProgram, settle } = await from<typeof Core>('kernel/src/core/index.ts');
  const { pure } = await from<typeof Ports>('engine/src/ports/index.ts');
  const flow = { id: 'f', entry: 'n', nodes: [{ id: 'n', type: 'tool', tool: 'notes.add' }] };
  const play = (approval: boolean, times: readonly string[]) => {
    const asks = approval ? { approval: 'always' } : {};
    const tools = { 'notes.add': { effect: 'write', input: { type: 'object' }, ...asks } };
    const program = createProgram(compile({ tools, flow }).flow as CompiledFlow, pure);
    const [start = 0, answered] = times.map((time) => Date.parse(`2026-11-${time}Z`));
    const fact = { type: 'start', run: 'r', flow: program.flow.hash, input: {}, seed: 1, origin: {} } as const;
    const first = settle(program, null, [fact], start);
    const id = [...(first.state?.pending.values() ?? [])][0]?.question?.id ?? '';
    const answer = { type: 'answer', id, answer: { choice: 'approve', by: 'ann' } } as const;
    const { state } = answered === undefined ? first : settle(program, first.state, [answer], answered);
    return state?.outcome?.error?.type ?? [...(state?.pending.values() ?? [])].map(({ kind }) => kind).join();
  };
  expect(play(false, ['19T10:00'])).toBe('tool');
  expect(play(false, ['19T18:00'])).toBe('HoursError');
  expect(play(false, ['21T10:00'])).toBe('HoursError');
  expect(play(true, ['19T17:59'])).toBe('ask');
  expect(play(true, ['19T17:58', '19T17:59'])).toBe('tool');
  expect(play(true, ['19T17:59', '19T18:01'])).toBe('HoursError');
});

test('the budget dimension is enforced and reported', { timeout: 60_000 }, async () => {
  const agents = [{ id: 'a', instructions: 'Speak.' }];
  const flow = {
    id: 'f',
    entry: 'one',
    nodes: [
      { id: 'one', type: 'agent', agent: 'a', routes: [{ when: 'default', to: 'two' }] },
      { id: 'two', type: 'agent', agent: 'a' },
    ],
  };
  const script = { agents: { a: [{ text: 'one' }, { text: 'two' }] } };
  const within = (round_trips: number): Promise<unknown> =>
    run({ agents, budgets: { round_trips }, flow }, script, 'go');
  expect(await within(2)).toMatchObject({ code: 'SUCCESS', usage: { roundTrips: 2 } });
  expect(await within(1)).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
});

interface Change {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** The blocks of one section. Each block belongs to the file that the text names last. */
function changesIn(section: string): { readonly created: ReadonlyMap<string, string>; readonly changed: Change[] } {
  const text = read('CONTRIBUTING.md').split(`### ${section}\n`)[1]?.split(/^##/m)[0] ?? '';
  const created = new Map<string, string>();
  const changed: Change[] = [];
  let path = '';
  for (const [, file, language, block = ''] of text.matchAll(
    /`(packages\/[^`]+\.ts)`|^```(ts|diff)\n([\s\S]*?)^```$/gm,
  )) {
    if (file !== undefined) path = file;
    else if (language === 'ts') created.set(path, block);
    else changed.push({ path, before: side(block, '-'), after: side(block, '+') });
  }
  return { created, changed };
}

function side(diff: string, mark: '-' | '+'): string {
  const lines = diff.split('\n').filter((line) => line.startsWith(' ') || line.startsWith(mark));
  return lines.map((line) => `${line.slice(1)}\n`).join('');
}

async function run(document: unknown, script: unknown, input: unknown): Promise<unknown> {
  write('doc.yaml', JSON.stringify(document));
  write('script.yaml', JSON.stringify(script));
  write('input.json', JSON.stringify(input));
  const main = pathToFileURL(join(dir, 'packages/cli/src/main.ts')).href;
  const { runCommand } = (await import(main)) as typeof Main;
  const args = ['run', 'doc.yaml', '--script', 'script.yaml', '--input', '@input.json', '--json'];
  const { stdout, stderr } = await sluice(args, { cwd: dir }, runCommand);
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`${stdout}\n${stderr}`);
  }
}

function node(args: readonly string[]): { stdout: string; stderr: string; status: number | null } {
  return spawnSync(process.execPath, args, { cwd: dir, encoding: 'utf8' });
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
}
