/** `trace --prompts` shows the messages as the provider gets them. */
import { expect, test } from 'vitest';
import { folder } from './cli.ts';
import { sluice } from './in-process.ts';

test('tools have the names that the model saw', async () => {
  const cwd = folder({
    'f.yaml': `
agents: [{ id: a, tools: [http.get], instructions: Fetch it. }]
flow: { id: f, entry: ask, nodes: [{ id: ask, type: agent, agent: a }] }
`,
    's.yaml': `
agents: { a: [{ tools: [{ name: http.get, args: { url: "https://x.example" } }] }, done] }
tools: { http.get: [{ result: { status: 200 } }] }
`,
  });
  const ran = await sluice(['run', 'f.yaml', '--script', 's.yaml', '--run', 'r1', '--input', 'go'], { cwd });
  expect(ran.status).toBe(0);
  const events = JSON.parse((await sluice(['trace', 'r1', '--prompts', '--json'], { cwd })).stdout) as Prompted[];
  const last = events.flatMap(({ prompt }) => (prompt === undefined ? [] : [prompt])).at(-1) ?? [];
  expect(last.flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => name))).toEqual(['http_get']);
  expect(JSON.stringify(last)).not.toContain('http.get');
  const text = (await sluice(['trace', 'r1', '--prompts'], { cwd })).stdout;
  expect(text).toContain('| call http_get {"url":"https://x.example"}');
});

interface Prompted {
  readonly prompt?: readonly { readonly toolCalls?: readonly { readonly name: string }[] }[];
}
