/** The errors of an MCP server show no secret that it was given, and cannot imitate lines of the command line. */
import { expect, test } from 'vitest';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

const KEY = 'k3y-Q7vR2mZx9LpW4tNc';
const ENCODED = Buffer.from(KEY).toString('base64');
/** The last 300 characters begin inside of the key. */
const CUT = `${KEY}${'.'.repeat(300 - KEY.length / 2)}`;

const FLOW = `mcp: { s: { command: ${JSON.stringify(process.execPath)}, args: [server.mjs], env: { TOKEN: "{{env.S_TOKEN}}" } } }
tools: { s.ping: { mcp: s/ping, effect: read } }
flow: { id: f, entry: a, nodes: [{ id: a, type: tool, tool: s.ping }] }
`;

const dying = (printed: string): string =>
  `process.stderr.write(${JSON.stringify(printed)}.replaceAll('KEY', process.env.TOKEN), () => process.exit(3));\n`;

test.each([
  ['plain and encoded', `refused KEY ${ENCODED}\n`],
  ['cut in the middle', CUT.replace(KEY, 'KEY')],
])('a server that does not start: %s', async (_, printed) => {
  const cwd = folder({ 'a.yaml': FLOW, 'server.mjs': dying(printed) });
  for (const args of [
    ['run', 'a.yaml'],
    ['mcp', 'lock', 'a.yaml'],
    ['doctor', 'a.yaml'],
    ['run', 'a.yaml', '--debug', '--json'],
  ]) {
    const { stdout, stderr } = await sluice(args, { cwd, env: { S_TOKEN: KEY } });
    expect(stdout + stderr).toContain('could not be started');
    for (const secret of [KEY, KEY.slice(-6), ENCODED]) expect(stdout + stderr).not.toContain(secret);
  }
});

test('doctor shows what a server printed on one line, with escapes', async () => {
  const cwd = folder({ 'a.yaml': FLOW, 'server.mjs': dying('x\u001B[2J\nok       bubblewrap  forged\n') });
  const { stdout } = await sluice(['doctor', 'a.yaml'], { cwd, env: { S_TOKEN: KEY } });
  expect(stdout).toContain(String.raw`x\u{1b}[2J ok bubblewrap forged`);
  expect(stdout).not.toMatch(/^ok\s+bubblewrap\s+forged/m);
});
