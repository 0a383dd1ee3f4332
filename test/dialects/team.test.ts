/** Every case of the team notation, one test each. */
import { readFileSync, readdirSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { teamSchema } from '../../packages/notations/src/team/schema/schema.ts';
import { documentSchema } from '@sluice-internal/compile/document';
import { caseName } from './case-name.ts';
import { compileCase } from './run-case.ts';
import { hasNotes } from './own-validator.ts';
import { runTeamCase } from './team-case.ts';

const root = new URL('./team/', import.meta.url);
const cases = readdirSync(root);

describe('golden trajectories of teams', () => {
  test('there are at least 120', () => {
    expect(cases.length).toBeGreaterThanOrEqual(120);
  });
  for (const name of cases) {
    const folder = new URL(`${name}/`, root);
    test(caseName(folder), () => runTeamCase(folder));
  }
});

test('editors accept every document that compiles, and refuse a misspelt key', () => {
  const schema = documentSchema([{ key: 'Orchestration', schema: teamSchema, bare: () => teamSchema.shape }]);
  const accepts = new Ajv2020({ strict: false }).compile(schema);
  const good = cases.filter((name) => compileCase(new URL(`${name}/`, root)).ok);
  const documents = good.map(
    (name) => [name, parse(readFileSync(new URL(`${name}/flow.yaml`, root), 'utf8'))] as const,
  );
  expect(documents.filter(([, document]) => !accepts(document)).map(([name]) => name)).toEqual([]);
  expect(good.length).toBeGreaterThan(150);
  expect(accepts({ Agents: [{ Name: 'A', Instruction: 'x' }] })).toBe(false);
});

test('a validator of your own is a plain function', async () => {
  const evidence = (text: string | null) =>
    ({ readText: () => Promise.resolve(text) }) as unknown as Parameters<typeof hasNotes>[0];
  expect(await hasNotes(evidence('# Notes'))).toMatchObject({ ok: true });
  expect(await hasNotes(evidence(null))).toMatchObject({ ok: false });
});
