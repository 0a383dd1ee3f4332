/** The library checks before the first call of a run that everything it may call is there, as the command line does. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import type { CreateEngineOptions, Engine } from '@sluice-internal/library';

function folder(files: { readonly [name: string]: string } = {}): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

/** Pays by a function, and then calls a tool. */
function documentOf(tool: object, more: object = {}): object {
  return {
    tools: { pay: { effect: 'financial', ...more }, next: { effect: 'read', ...tool } },
    flow: {
      id: 'shop',
      entry: 'a',
      nodes: [
        { id: 'a', type: 'tool', tool: 'pay', routes: [{ to: 'b' }] },
        { id: 'b', type: 'tool', tool: 'next', routes: [{ to: 'end' }] },
      ],
    },
  };
}

interface Shop {
  readonly engine: Engine;
  readonly paid: string[];
}

function shop(options: CreateEngineOptions = {}): Shop {
  const paid: string[] = [];
  const pay = (): string => {
    paid.push('paid');
    return 'ok';
  };
  const engine = createEngine({ journal: openMemory(), ...options, tools: { pay, ...options.tools } });
  onTestFinished(() => engine.close());
  return { engine, paid };
}

describe('a run whose next tool cannot work pays nothing', () => {
  test.each([
    ['no implementation', {}, 'no-implementation', '`next` has no implementation'],
    ['a module that is not there', { module: './gone.mjs#next' }, 'missing-prerequisite', 'gone.mjs` does not exist'],
    ['a module without the function', { module: './one.mjs#nexd' }, 'missing-prerequisite', 'no function `nexd`'],
    ['a module that cannot be loaded', { module: './bad.mjs#next' }, 'missing-prerequisite', 'bad.mjs'],
    [
      'a variable that is not set',
      { http: { url: 'https://x.test', headers: { k: '{{env.SLUICE_NOT_SET}}' } } },
      'missing-prerequisite',
      'SLUICE_NOT_SET',
    ],
  ])('%s', async (_, tool, code, message) => {
    const documentDir = folder({
      'one.mjs': 'export const next = () => 1;\n',
      'bad.mjs': 'export const next = () => 1;\nthrow new Error("no database");\n',
    });
    const { engine, paid } = shop({ toolOptions: { documentDir } });
    const wanted = { code, message: expect.stringContaining(message) };
    await expect(engine.run(compile(documentOf(tool)))).rejects.toMatchObject(wanted);
    await expect(engine.start(compile(documentOf(tool)))).rejects.toMatchObject(wanted);
    expect(paid).toEqual([]);
    expect(await engine.list()).toEqual([]);
  });

  test('a tool that only undoes counts too', async () => {
    const { engine, paid } = shop({ tools: { next: () => 1 } });
    const document = documentOf({}, { compensate: 'reverse' }) as { tools: object };
    const tools = { ...document.tools, reverse: { effect: 'financial' } };
    await expect(engine.run(compile({ ...document, tools }))).rejects.toMatchObject({ code: 'no-implementation' });
    expect(paid).toEqual([]);
  });

  test('an agent without a model or a key', async () => {
    const { engine, paid } = shop({ models: { env: {} } });
    const document = {
      models: { main: { provider: 'openai', model: 'big' } },
      agents: [{ id: 'bot', model: 'main', instructions: 'Answer.' }],
      tools: { pay: { effect: 'financial' } },
      flow: {
        id: 'shop',
        entry: 'a',
        nodes: [
          { id: 'a', type: 'tool', tool: 'pay', routes: [{ to: 'b' }] },
          { id: 'b', type: 'agent', agent: 'bot', routes: [{ to: 'end' }] },
        ],
      },
    };
    await expect(engine.run(compile(document))).rejects.toMatchObject({ code: 'no-credentials' });
    expect(paid).toEqual([]);
  });
});

describe('what stands in for a tool', () => {
  test('a function, a script, a performer and `onMissing`', async () => {
    const withFunction = shop({ tools: { next: () => 2 } });
    const run = await withFunction.engine.run(compile(documentOf({ module: './gone.mjs#next' })));
    expect(await run.result()).toMatchObject({ code: 'SUCCESS', output: 2 });
    const scripted = shop({ script: { tools: { next: [{ result: 3 }] } } });
    expect(await (await scripted.engine.run(compile(documentOf({})))).result()).toMatchObject({ output: 3 });
    const performed = shop({ performer: { perform: async () => ({ ok: true, value: 4 }) } });
    expect(await (await performed.engine.run(compile(documentOf({})))).result()).toMatchObject({ output: 4 });
    const brought = shop({ onMissing: async () => ({ ok: true, value: 5 }) });
    expect(await (await brought.engine.run(compile(documentOf({})))).result()).toMatchObject({ output: 5 });
  });
});

test('the warnings of the compiler are told once for each flow', async () => {
  const notices: string[] = [];
  const { engine } = shop({ tools: { next: () => 2 }, onNotice: (message) => void notices.push(message) });
  const document = { ...documentOf({}), protections: { loop: false } };
  const compiled = compile(document);
  const warnings = compiled.diagnostics.filter(({ severity }) => severity === 'warning');
  expect(warnings.length).toBeGreaterThan(0);
  for (let index = 0; index < 3; index++) await (await engine.run(compiled)).result();
  expect(notices).toHaveLength(warnings.length);
  expect(notices[0]).toContain(`${warnings[0]?.code}: ${warnings[0]?.message}`);
});
