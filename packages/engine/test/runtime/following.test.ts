/** Whoever follows a run hears of it wherever it goes on, and may be answered by a model that is a function. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openMemory, openSqlite } from '@sluice-internal/library';
import { readRun } from '@sluice-internal/engine/journal';
import type { CompiledFlow } from '@sluice-internal/library';

const { flow: gate } = compile({
  flow: { id: 'gate', entry: 'ask', nodes: [{ id: 'ask', type: 'approval', message: 'Go on?' }] },
});

test('an answer that another process took is heard of, and the run is followed to its end', async () => {
  const journal = join(folder(), 'runs.db');
  const here = createEngine({ journal });
  const there = createEngine({ journal });
  const run = await here.start(gate as CompiledFlow, { run: 'watched' });
  await here.wait(run);
  const heard: string[] = [];
  const following = (async () => {
    for await (const event of here.events(run)) heard.push(event.type);
  })();
  const [question] = await there.approvals(run);
  await there.answer(question?.id as string, { choice: 'approve', by: 'ann' });
  await following;
  expect(heard.at(-1)).toBe('run.ended');
  await here.close();
  await there.close();
});

test('a reader that begins inside an append of another process gets the rest of it', async () => {
  const journal = join(folder(), 'runs.db');
  const here = createEngine({ journal });
  const there = createEngine({ journal });
  const run = await here.start(gate as CompiledFlow, { run: 'watched' });
  await here.wait(run);
  const heard: number[] = [];
  const following = (async () => {
    for await (const { seq } of here.events(run, { after: 4 })) heard.push(seq);
  })();
  const [question] = await there.approvals(run);
  await there.answer(question?.id as string, { choice: 'approve', by: 'ann' });
  await following;
  const { events } = await readRun(openSqlite(journal).journal, run);
  expect(heard).toEqual(events.map(({ seq }) => seq).filter((seq) => seq > 4));
  await here.close();
  await there.close();
});

test('a program that follows a waiting run stays alive until the answer', async () => {
  const dir = folder();
  const index = resolve(import.meta.dirname, '../../../library/src/index.ts');
  const program = join(dir, 'follow.ts');
  writeFileSync(
    program,
    `import { compile, createEngine } from ${JSON.stringify(index)};
     const { flow } = compile({ flow: { id: 'gate', entry: 'ask', nodes: [{ id: 'ask', type: 'approval', message: 'Go?' }] } });
     const engine = createEngine({ journal: ${JSON.stringify(join(dir, 'runs.db'))} });
     const run = await engine.start(flow, { run: 'watched' });
     for await (const event of engine.events(run)) console.log(event.type);
     await engine.close();`,
  );
  const followed = promisify(execFile)(process.execPath, [program]);
  const engine = createEngine({ journal: join(dir, 'runs.db') });
  for (let waits = false; !waits;) {
    await new Promise((done) => setTimeout(done, 50));
    waits = (await engine.list()).some(({ status }) => status === 'suspended');
  }
  const [question] = await engine.approvals('watched');
  await engine.answer(question?.id as string, { choice: 'approve', by: 'ann' });
  expect((await followed).stdout.trim().split('\n').at(-1)).toBe('run.ended');
  await engine.close();
});

test('a model that is a function may ask for tools', async () => {
  const { flow, diagnostics } = compile({
    agents: [{ id: 'clerk', tools: ['orders.get'] }],
    tools: { 'orders.get': { effect: 'read', input: { type: 'object' } } },
    flow: { id: 'desk', entry: 'a', nodes: [{ id: 'a', type: 'agent', agent: 'clerk', input: { task: 'look' } }] },
  });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  const asked: unknown[] = [];
  const engine = createEngine({
    journal: openMemory(),
    tools: { 'orders.get': (args) => (asked.push(args), { total: 12 }) },
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'It is 12.'
        : { text: '', toolCalls: [{ name: 'orders.get', args: { id: 'A-7' } }] },
  });
  const report = await engine.settled(await engine.start(flow as CompiledFlow, { input: 'go' }));
  expect({ asked, output: report.output, calls: report.usage.toolCalls }).toEqual({
    asked: [{ id: 'A-7' }],
    output: 'It is 12.',
    calls: 1,
  });
  await engine.close();
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-following-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
