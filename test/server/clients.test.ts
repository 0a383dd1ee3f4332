/**
 * Clients of the server: one that a public generator makes from `/openapi.json`, compiled by its own TypeScript, and the client of the
 * package in Node, in Bun and at the edge.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { place, type Place } from './kit.ts';

const clients = join(import.meta.dirname, 'clients');
const bundle = join(import.meta.dirname, '../../dist/bundle');
const tool = (name: string): string => join(clients, 'node_modules/.bin', name);
const run = promisify(execFile);

let here: Place;
let dir: string;
beforeAll(async () => {
  here = await place();
  dir = mkdtempSync(join(tmpdir(), 'sluice-clients-'));
});
afterAll(async () => {
  await here.end();
  rmSync(dir, { recursive: true, force: true });
});

test('a client that a public generator makes compiles, and lives through the same story', async () => {
  for (const name of ['story.mts', 'tsconfig.json']) cpSync(join(clients, name), join(dir, name));
  symlinkSync(join(clients, 'node_modules'), join(dir, 'node_modules'));
  const { body } = await here.ask('GET', '/openapi.json', { token: null });
  writeFileSync(join(dir, 'api.json'), JSON.stringify(body));
  await run(process.execPath, [tool('openapi-typescript'), 'api.json', '-o', 'api.d.ts'], { cwd: dir });
  const compiled = await run(process.execPath, [tool('tsc'), '-p', '.'], { cwd: dir }).catch((error: unknown) => error);
  expect(compiled).toMatchObject({ stdout: '', stderr: '' });
  const { stdout } = await run(process.execPath, ['story.mts', here.serving.url, here.token], { cwd: dir });
  expect(JSON.parse(stdout)).toEqual({
    ...{ width: expect.any(Number), tools: ['payments.refund'], missing: 0 },
    ...{ state: 'completed', code: 'SUCCESS', receipts: [['payments.refund', 'committed']], last: 'run.ended' },
    refused: ['stale-payload', 412, 'run-ended', 409],
  });
});

describe('the client of the package', () => {
  const LIVED = {
    ...{ output: { paid: true }, late: [true, 'run-ended', 409], listed: true, twice: 0, same: true },
    paid: [['payments.refund', 'committed']],
  };
  const url = (path: string): string => JSON.stringify(pathToFileURL(path).href);
  /** A program that prints what became of the refund. */
  const program = (key: string): string => `
    import { connect, SluiceError } from ${url(join(bundle, 'client.js'))};
    import { foldEvents, startOfView } from ${url(join(bundle, 'client-fold.js'))};
    import { lifeOfARefund } from ${url(join(clients, 'life.mjs'))};
    const server = ${JSON.stringify({ url: here.serving.url, token: here.token, key })};
    console.log(JSON.stringify(await lifeOfARefund({ connect, SluiceError, foldEvents, startOfView, ...server })));
  `;

  test.each([
    ['node', process.execPath],
    ['bun', tool('bun')],
  ])('in %s', async (name, command) => {
    const file = join(dir, `${name}.mjs`);
    writeFileSync(file, program(name));
    const { stdout } = await run(command, [file], { cwd: dir });
    expect(JSON.parse(stdout)).toEqual(LIVED);
  });

  test('at the edge, which has web standards and nothing of Node', async () => {
    const { EdgeVM } = (await import(join(clients, 'node_modules/@edge-runtime/vm/dist/index.js'))) as {
      readonly EdgeVM: new () => { evaluate(code: string): unknown };
    };
    const vm = new EdgeVM();
    expect(vm.evaluate('[typeof process, typeof require, typeof Buffer].join()')).toBe('undefined,undefined,undefined');
    // The runtime takes scripts: the exports of each module become one object.
    const scriptOf = (path: string): string =>
      readFileSync(path, 'utf8')
        .replace(
          /export\s*\{([^}]*)\};?\s*$/,
          (_, names: string) => `return {${names.replaceAll(/([\w$]+) as ([\w$]+)/g, '$2: $1')}};`,
        )
        .replace('export async function lifeOfARefund', 'return async function');
    const modules = [join(bundle, 'client.js'), join(bundle, 'client-fold.js'), join(clients, 'life.mjs')];
    const [client, fold, life] = modules.map((path) => `(() => {${scriptOf(path)}})()`);
    const given = JSON.stringify({ url: here.serving.url, token: here.token, key: 'edge' });
    const lived = await (vm.evaluate(
      `(async () => JSON.stringify(await ${life}({ ...${client}, ...${fold}, ...${given} })))()`,
    ) as Promise<string>);
    expect(JSON.parse(lived)).toEqual(LIVED);
  });
});
