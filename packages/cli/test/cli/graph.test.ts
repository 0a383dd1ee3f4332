import { expect, test } from 'vitest';
import { folder, json } from './cli.ts';
import { newProject, sluice } from './in-process.ts';

test('graph draws the authored nodes in every format', async () => {
  const cwd = await newProject();
  const names = ['triage', 'size', 'gate', 'pay', 'done', 'refused', 'other'];
  for (const format of ['mermaid', 'dot', 'svg', 'json']) {
    const ran = await sluice(['graph', 'support.flow.yaml', '--format', format], { cwd });
    expect(ran.status).toBe(0);
    expect(ran.stderr).toBe('');
    for (const name of names) expect(ran.stdout).toContain(name);
  }
  expect((await sluice(['graph', 'support.flow.yaml'], { cwd })).stdout).toMatch(/^flowchart /);
  const picture = json(await sluice(['graph', 'support.flow.yaml', '--json'], { cwd })) as {
    nodes: readonly { id: string }[];
  };
  expect(picture.nodes.map(({ id }) => id)).toEqual(expect.arrayContaining(names));
});

test('a document with a mistake is drawn as far as it was understood, and the mistake is told', async () => {
  const cwd = folder({
    'bad.yaml': `flow:
  id: bad
  entry: a
  nodes:
    - { id: a, type: approval, message: "?", routes: [{ to: b }, { to: nowhere }] }
    - { id: b, type: terminal }
`,
  });
  const ran = await sluice(['graph', 'bad.yaml'], { cwd });
  expect(ran.status).toBe(1);
  expect(ran.stdout).toMatch(/^flowchart /);
  expect(ran.stderr).toContain('error[unknown-target]');
});

test('--direction right draws from left to right, and another word is wrong usage', async () => {
  const cwd = await newProject();
  const ran = await sluice(['graph', 'support.flow.yaml', '--direction', 'right'], { cwd });
  expect(ran.stdout).toMatch(/^flowchart LR/);
  const wrong = await sluice(['graph', 'support.flow.yaml', '--direction', 'rihgt'], { cwd });
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain('right');
});
