/** In a team, plugins grant their tools; what is written elsewhere in the document still counts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import { compile } from '../../../library/src/compile.ts';
import { createEngine } from '@sluice-internal/library/compose';

const workDir = mkdtempSync(join(tmpdir(), 'sluice-team-'));
afterAll(() => rmSync(workDir, { recursive: true }));

async function write(sections: object) {
  const { flow, diagnostics } = compile({
    ...sections,
    Orchestration: {
      Name: 'T',
      Agents: [{ Name: 'Dev', Instructions: 'Work.', Plugins: ['FileSystem'] }],
      Selection: { Type: 'sequential' },
    },
  });
  if (flow === undefined) throw new Error(JSON.stringify(diagnostics));
  const script = {
    agents: { Dev: [{ text: '', tools: [{ name: 'write_file', args: { path: 'a.txt', content: 'x' } }] }, 'done'] },
  };
  const engine = createEngine({ journal: openMemory(), script, toolOptions: { workDir } });
  try {
    const { code, usage } = await engine.settled(await engine.start(flow, { input: 'go', origin: { user: 'ann' } }));
    return [code, usage.toolCalls];
  } finally {
    await engine.close();
  }
}

test.each<[string, object, string, number]>([
  ['granted by the plugin', {}, 'SUCCESS', 1],
  ['a policy that permits', { policies: { p: 'permit(principal == User::"ann", action, resource);' } }, 'SUCCESS', 1],
  ['a policy that does not', { policies: { p: 'permit(principal == User::"bob", action, resource);' } }, 'SUCCESS', 0],
  ['a boundary that denies', { boundary: { tools: { deny: ['write_file'] } } }, 'SUCCESS', 0],
  ['a boundary that asks', { boundary: { tools: { approve: ['write_*'] } } }, 'CONFIRM_REQUIRED', 0],
  [
    'a boundary that fails closed',
    { boundary: { fail_closed: [{ what: 'no text files', when: "args.path.endsWith('.txt')" }] } },
    'UNSAFE_DETECTION',
    0,
  ],
])('%s', async (_, sections, code, calls) => {
  expect(await write(sections)).toEqual([code, calls]);
});
