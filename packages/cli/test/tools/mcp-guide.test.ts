/** docs/guide/mcp.md as a reader follows it: its files are written, and its commands are run in order. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { folder } from '../cli/cli.ts';
import { sluice } from '../cli/in-process.ts';
import { referenceServer, type ReferenceServer } from '../../../../test/support/programs.ts';
import { COMPILE_CACHE } from '../../../tools/test/tools/mcp-program.ts';

const page = readFileSync(new URL('../../../../docs/guide/mcp.md', import.meta.url), 'utf8');
const CACHE = Object.entries(COMPILE_CACHE).map(([name, path]) => `${name}: ${JSON.stringify(path)}`)[0] ?? '';

test('the page works as printed', { timeout: 180_000 }, async () => {
  const port = await startEverything();
  const files = [...page.matchAll(/```yaml\n# (\S+\.yaml)\n([\s\S]*?)```/g)].map(([, name = '', text = '']) => [
    name,
    // The installed server without npx, which would look for a newer one.
    text
      .replaceAll(
        /command: npx, args: \["@modelcontextprotocol\/server-(\w+)"/g,
        (_, server: ReferenceServer) => `command: ${process.execPath}, args: ["${referenceServer(server)}"`,
      )
      .replaceAll('], trusted: true }', `], env: { ${CACHE} }, trusted: true }`)
      .replaceAll('env: { MEMORY', `env: { ${CACHE}, MEMORY`)
      .replaceAll('localhost:3001', `127.0.0.1:${port}`),
  ]);
  expect(files.map(([name]) => name)).toHaveLength(5);
  const cwd = folder(Object.fromEntries(files) as { [name: string]: string });
  const commands = [...page.matchAll(/^npx sluice (.*)$/gm)].map(([, command = '']) => wordsOf(command));
  expect(commands).toHaveLength(8);
  const outputs: string[] = [];
  for (const args of commands) {
    const ran = await sluice(args, { cwd, env: { PWD: cwd } });
    expect([args, ran.status, ran.status === 0 ? '' : ran.stderr]).toEqual([args, 0, '']);
    outputs.push(ran.stdout);
  }
  expect(readFileSync(join(cwd, 'ada.md'), 'utf8')).toBe('Ada likes tea.');
  expect(readFileSync(join(cwd, 'memory.jsonl'), 'utf8')).toContain('likes tea');
  expect(outputs.at(-1)).toContain('The server works.');
});

/** Words of a command line, with quotes. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  );
}

async function startEverything(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  const child = spawn(process.execPath, [referenceServer('everything'), 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: 'ignore',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  for (let tries = 0; tries < 1000; tries += 1) {
    const isUp = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'OPTIONS' }).then(
      () => true,
      () => false,
    );
    if (isUp) return port;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the server did not start');
}
