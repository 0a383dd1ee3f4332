/**
 * Budget stress over all examples: each dimension set to amounts from 0 to the certificate's most. No run exceeds its limit, and
 * every run ends with the right code or waits. SLUICE_STRIDE=1 tries every amount.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { checksOf } from '../../src/suite/modes.ts';
import { prepareSuite } from '../../src/suite/prepare.ts';
import type { Json } from '@sluice-internal/kernel/expr';

const dir = fileURLToPath(new URL('../../../../examples/', import.meta.url));
const NOTATION = /\.(flow|workflow|loop|team|staged)\.yaml$/;
const files = readdirSync(dir);
/** Without the example that works on a repository of its own, and the one that waits on the real clock. */
const LEFT_OUT = ['dev-team.team.yaml', 'slow.flow.yaml'];
const examples = files.filter(
  (name) => NOTATION.test(name) && !LEFT_OUT.includes(name) && files.includes(name.replace(NOTATION, '.script.yaml')),
);
const stride = Number(process.env['SLUICE_STRIDE'] ?? 17);

/** The input that the example prints, or any. */
function inputOf(name: string): Json {
  const text = readFileSync(`${dir}${name}`, 'utf8').replaceAll(/ \\\n# +/g, ' ');
  const [, quoted, plain] = /--input (?:'([^']*)'|"([^"]*)")/.exec(text) ?? [];
  const given = quoted ?? plain ?? 'a question';
  return given.startsWith('{') ? (JSON.parse(given) as Json) : given;
}

test.each(examples)('%s', { timeout: 120_000 }, async (name) => {
  const script = `./${name.replace(NOTATION, '.script.yaml')}`;
  const suite = { flow: `./${name}`, modes: ['budgets' as const], cases: [{ name, input: inputOf(name), script }] };
  const { cases } = await prepareSuite({ suite, dir, tags: [] });
  const checks = (await Promise.all(cases.map(checksOf))).flat();
  // Each example starts at another offset, so that together they try all amounts.
  const chosen = checks.filter((_, index) => index % stride === examples.indexOf(name) % stride);
  const found = [];
  for (const check of chosen) {
    const { problems } = await check.perform();
    if (problems.length > 0) found.push({ check: check.name, problems });
  }
  expect(found).toEqual([]);
  expect(chosen.length).toBeGreaterThan(0);
});
