/** `sluice retry` and `sluice graph RUN`: a run goes on at the call that failed, and no effect happens twice. */
import { describe, expect, test } from 'vitest';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

const HEAD = `
tools:
  look: { effect: read, module: './t.mjs#look' }
  pay: { effect: write, module: './t.mjs#pay', compensate: back }
  back: { effect: write, module: './t.mjs#back' }
  post: { effect: write, module: './t.mjs#post' }
`;
const LINE = `${HEAD}
flow:
  id: line
  entry: read
  nodes:
    - { id: read, type: tool, tool: look, routes: [{ to: send }] }
    - { id: send, type: tool, tool: post, routes: [{ to: done }] }
    - { id: done, type: terminal, output: "{{send.result}}" }
`;
const FAILS = { error: 'fatal', type: 'DownError', message: 'down' };

interface Shown {
  readonly run: string;
  readonly code: string;
  readonly output: unknown;
  readonly path: readonly string[];
  readonly receipts: readonly { readonly tool: string }[];
}

async function failed(document: string, tools: object): Promise<string> {
  const cwd = folder({
    'a.flow.yaml': document,
    'bad.script.yaml': JSON.stringify({ tools }),
    'good.script.yaml': JSON.stringify({
      tools: { look: [{ result: 'new' }], pay: [{ result: 1 }], back: [{ result: 1 }], post: [{ result: 'sent' }] },
    }),
  });
  await sluice(['run', 'a.flow.yaml', '--script', 'bad.script.yaml', '--input', 'x', '--run', 'r1'], { cwd });
  return cwd;
}

async function retried(cwd: string): Promise<Shown> {
  const { stdout } = await sluice(['retry', 'r1', '--script', 'good.script.yaml', '--run', 'r2', '--json'], { cwd });
  return JSON.parse(stdout) as Shown;
}

describe('retry', () => {
  test('goes on at the call that failed, with what succeeded', async () => {
    const cwd = await failed(LINE, { look: [{ result: 'old' }], post: [FAILS] });
    const report = await retried(cwd);
    expect(report).toMatchObject({ run: 'r2', code: 'SUCCESS', output: 'sent', path: ['read', 'send', 'done'] });
    const { stdout } = await sluice(['trace', 'r2', '--json'], { cwd });
    expect(stdout).toContain('old');
    expect(stdout).not.toContain('"new"');
  });

  test('does again what the end of the run undid', async () => {
    const document = LINE.replace('entry: read', 'entry: take').replace(
      '    - { id: read',
      '    - { id: take, type: tool, tool: pay, params: { amount: 1 }, routes: [{ to: read }] }\n    - { id: read',
    );
    const cwd = await failed(document, {
      ...{ look: [{ result: 'old' }], pay: [{ result: 1 }], back: [{ result: 1 }], post: [FAILS] },
    });
    const report = await retried(cwd);
    expect([report.code, report.path]).toEqual(['SUCCESS', ['take', 'read', 'send', 'done']]);
    expect(report.receipts.filter(({ tool }) => tool === 'pay')).toHaveLength(1);
  });

  test('a later call with an effect that stays is not made again', async () => {
    const document = `${HEAD}
flow:
  id: line
  entry: read
  nodes:
    - { id: read, type: tool, tool: look, on_error: [{ default: true, to: send }], routes: [{ to: send }] }
    - { id: send, type: tool, tool: post, routes: [{ to: bad }] }
    - { id: bad, type: fail, message: no }
`;
    const cwd = await failed(document, { look: [FAILS], post: [{ result: 'sent' }] });
    const { status, stderr } = await sluice(['retry', 'r1', '--script', 'good.script.yaml'], { cwd });
    expect([status === 0, stderr]).toEqual([false, expect.stringContaining('bad-retry')]);
    expect(stderr).toContain('called `post` at `send` after the failure');
  });

  test('a run that succeeded', async () => {
    const cwd = await failed(LINE, { look: [{ result: 'old' }], post: [{ result: 'sent' }] });
    const { stderr } = await sluice(['retry', 'r1', '--script', 'good.script.yaml'], { cwd });
    expect(stderr).toContain('succeeded, so nothing is to be tried again');
  });
});

test('graph RUN draws the nodes that were entered, and no other', async () => {
  const cwd = await failed(LINE, { look: [{ result: 'old' }], post: [FAILS] });
  const { stdout } = await sluice(['graph', 'r1', '--format', 'json'], { cwd });
  const { nodes, edges } = JSON.parse(stdout) as {
    readonly nodes: readonly { readonly id: string; readonly detail: string | null }[];
    readonly edges: readonly { readonly from: string; readonly to: string }[];
  };
  expect(nodes.map(({ id }) => id)).toEqual(['~start', 'read', 'send', '~end']);
  expect(nodes.map(({ detail }) => detail?.split(',')[0] ?? null)).toEqual([null, 'done', 'failed', null]);
  expect(edges.map(({ from, to }) => `${from} ${to}`)).toEqual(['~start read', 'read send', 'send ~end']);
  const drawn = await sluice(['graph', 'r1'], { cwd });
  expect(drawn.stdout).toContain('flowchart');
});
