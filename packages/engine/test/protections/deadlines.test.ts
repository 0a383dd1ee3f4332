/** Deadlines are instants that reach every tool; a call that cannot end in time is not made. §flow/timeout-propagation */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { CompiledFlow, Report } from '@sluice-internal/library';
import { createVirtualClock } from '@sluice-internal/engine/ports';
import { AGENTS, flowOf, lab, says } from './run-flow.ts';

let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-'));
  writeFileSync(join(dir, 'tools.mjs'), 'export const when = (args, { deadline }) => ({ deadline });\n');
});
afterAll(() => rmSync(dir, { recursive: true }));

const toolFlow = (tool: object, seconds: number) => ({
  tools: { 'my.tool': { description: 'Tells its deadline.', effect: 'read', timeout: 60, ...tool } },
  budgets: { wall_clock_seconds: seconds },
  flow: {
    id: 't',
    entry: 'a',
    nodes: [{ id: 'a', type: 'tool', tool: 'my.tool', params: {}, routes: [{ to: 'end' }] }],
  },
});

async function run(document: object): Promise<Report & { readonly startedAt: number }> {
  const { flow, diagnostics } = compile(document);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  const engine = createEngine({
    journal: openMemory(),
    toolOptions: {
      documentDir: dir,
      workDir: join(dir, 'work'),
      http: { hosts: ['127.0.0.1'], privateHosts: ['127.0.0.1'] },
    },
  });
  const startedAt = Date.now();
  const report = await engine.settled(await engine.start(flow as CompiledFlow));
  await engine.close();
  return { ...report, startedAt };
}

/** The deadline of the run, give or take the time that the machine needed. */
function isAbout(text: unknown, instant: number): boolean {
  const found = typeof text === 'number' ? text : Date.parse(String(text));
  return Math.abs(found - instant) < 5000;
}

describe('passed into tools', () => {
  test('a module gets it as `deadline`', async () => {
    const report = await run(toolFlow({ module: './tools.mjs#when' }, 40));
    const { deadline } = report.output as { deadline: number };
    expect(isAbout(deadline, report.startedAt + 40_000)).toBe(true);
  });

  test('a command gets it as SLUICE_DEADLINE', async () => {
    const report = await run(toolFlow({ shell: 'printf %s "$SLUICE_DEADLINE"' }, 40));
    expect(JSON.stringify(report.output)).toMatch(/\d{4}-\d\d-\d\dT/);
    const text = /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(JSON.stringify(report.output))?.[0];
    expect(isAbout(text, report.startedAt + 40_000)).toBe(true);
  });

  test('a server gets it as the header Sluice-Deadline', async () => {
    const server = createServer((request, response) => {
      response.end(JSON.stringify({ deadline: request.headers['sluice-deadline'] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const report = await run(toolFlow({ http: { method: 'GET', url: `http://127.0.0.1:${port}/` } }, 40));
    expect(
      isAbout(/\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(JSON.stringify(report.output))?.[0], report.startedAt + 40_000),
    ).toBe(true);
    server.close();
  });
});

describe('composed', () => {
  const NODE = { id: 'a', type: 'agent', agent: 'bot', timeout: 100, routes: [{ to: 'b' }] };
  const second = { ...NODE, id: 'b', routes: [{ to: 'end' }] };

  test('a call has no more time than the run', async () => {
    const deadlines: (number | null)[] = [];
    const one = lab(async ({ command, clock }) => {
      deadlines.push(command.deadline);
      await clock.sleep(30_000);
      return says('ok');
    });
    await one.run(
      flowOf({ ...AGENTS, budgets: { wall_clock_seconds: 120 }, flow: { id: 'f', entry: 'a', nodes: [NODE, second] } }),
    );
    expect(deadlines).toEqual([100_000, 120_000]);
    await one.close();
  });

  test('a call in a branch has no more time than the join', async () => {
    const deadlines: (number | null)[] = [];
    const one = lab(({ command }) => {
      deadlines.push(command.deadline);
      return says('ok');
    });
    await one.run(
      flowOf({
        ...AGENTS,
        flow: {
          id: 'f',
          entry: 'p',
          nodes: [
            {
              id: 'p',
              type: 'parallel',
              branches: [{ to: 'x' }, { to: 'y' }],
              join: { type: 'all', timeout: 20 },
              routes: [{ to: 'end' }],
            },
            { ...NODE, id: 'x', routes: [{ to: 'end' }] },
            { ...NODE, id: 'y', routes: [{ to: 'end' }] },
          ],
        },
      }),
    );
    expect(deadlines).toEqual([20_000, 20_000]);
    await one.close();
  });

  test('a child stops early when the time is nearly gone: the call is not made', async () => {
    const one = lab(
      async ({ clock }) => {
        await clock.sleep(59_500);
        return says('ok');
      },
      { clock: createVirtualClock(0) },
    );
    const report = await one.run(
      flowOf({ ...AGENTS, budgets: { wall_clock_seconds: 60 }, flow: { id: 'f', entry: 'a', nodes: [NODE, second] } }),
    );
    expect(one.sent).toHaveLength(1);
    expect(report).toMatchObject({ state: 'failed', code: 'TIMEOUT', error: { type: 'DeadlineError', node: 'b' } });
    await one.close();
  });
});
