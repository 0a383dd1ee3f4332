/** The commands that pages and examples print run as printed. */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bin, cleanEnvironment, folder, root } from './cli.ts';
import { sluice } from './in-process.ts';
import { printedIn, wordsOf } from './page.ts';

/** One is slow on purpose; one needs a copied folder. Both have tests of their own. */
const ELSEWHERE = new Set(['slow.flow.yaml', 'dev-team.team.yaml']);

const GUIDES = [
  ...['approvals', 'arguments', 'attachments', 'audit', 'boundaries', 'bounded-agent', 'diagnosis', 'evaluating'],
  ...['evidence', 'failures'],
  ...['memory', 'metrics', 'migration', 'personal-data', 'policies', 'protections', 'quotas', 'rehearsal', 'replay'],
  ...['replies', 'retention', 'scripts', 'tools'],
];

describe('pages', () => {
  test.each([
    ...GUIDES.map((page) => `guide/${page}`),
    ...['README', 'flow', 'workflow', 'team', 'staged', 'loop'].map((page) => `dialects/${page}`),
  ])(
    'docs/%s.md',
    async (page) => {
      const { files, commands } = printedIn(readFileSync(join(root, `docs/${page}.md`), 'utf8'));
      const cwd = folder(files);
      cpSync(join(root, 'examples'), join(cwd, 'examples'), { recursive: true });
      const session = commands.filter(({ words }) => !words.includes('ID'));
      expect(session.length).toBeGreaterThan(0);
      for (const { words, shows } of session) {
        const asked = words.includes('APPROVAL') ? await firstApproval(cwd) : '';
        const { status, stdout, stderr } = await sluice(
          words.map((word) => (word === 'APPROVAL' ? asked : word)),
          { cwd },
        );
        expect([words.join(' '), status === 0 || status === 3, stderr]).toEqual([
          words.join(' '),
          true,
          expect.not.stringContaining('error['),
        ]);
        for (const line of shows) expect(`${stdout}${stderr}`).toContain(line);
      }
    },
    60_000,
  );
});

test('the README: the first command prints what stands there, in this order', { timeout: 60_000 }, async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [, line = ''] = /^npm ci && npx sluice (run .+)$/m.exec(readme) ?? [];
  const [, printed = ''] = /prints:\n\n```\n([\s\S]*?)```/.exec(readme) ?? [];
  const cwd = folder();
  cpSync(join(root, 'examples'), join(cwd, 'examples'), { recursive: true });
  // One stream for both, so that the order counts.
  const command = `"${process.execPath}" "${bin}" ${line} 2>&1`;
  const { stdout } = spawnSync('sh', ['-c', command], { cwd, env: cleanEnvironment(), encoding: 'utf8' });
  const steady = (text: string): string =>
    text
      .replaceAll(/r_[a-z0-9]+/g, 'r_ID')
      .replaceAll(/\d+\.\d s/g, 'T s')
      .trim();
  expect(steady(stdout)).toBe(steady(printed));
});

/** The saga shows a run that undoes its work, the stamps a budget that is used up. */
const FAILING: { readonly [name: string]: readonly [number, string] } = {
  'saga.staged.yaml': [1, 'compensated'],
  'stamps.flow.yaml': [1, 'BUDGET_EXHAUSTED'],
};

describe('examples', () => {
  const printed = readdirSync(join(root, 'examples'))
    .filter((name) => name.endsWith('.yaml') && !ELSEWHERE.has(name))
    .flatMap((name) => {
      const text = readFileSync(join(root, 'examples', name), 'utf8').replaceAll(/ \\\n# +/g, ' ');
      return [...text.matchAll(/^# +npx sluice (run .*)$/gm)].map(([, line]) => [name, line as string] as const);
    });

  test.each(printed)(
    '%s: npx sluice %s',
    async (name, line) => {
      const cwd = folder();
      cpSync(join(root, 'examples'), join(cwd, 'examples'), { recursive: true });
      const { status, stderr } = await sluice(wordsOf(line), { cwd });
      const [expected, words] = FAILING[name] ?? [0, 'SUCCESS'];
      expect([status, stderr]).toEqual([expected, expect.stringContaining(words)]);
    },
    60_000,
  );

  test('there is one for each profile, and for each kind of loop', () => {
    const names = new Set(printed.map(([name]) => name));
    for (const profile of ['research', 'coding', 'support', 'procurement', 'sre'])
      expect(names).toContain(`profile-${profile}.flow.yaml`);
    for (const loop of ['research', 'plan-and-do', 'incident']) expect(names).toContain(`${loop}.loop.yaml`);
  });
});

async function firstApproval(cwd: string): Promise<string> {
  const { stdout } = await sluice(['approvals', '--json'], { cwd });
  return (JSON.parse(stdout) as { id: string }[])[0]?.id ?? '';
}
