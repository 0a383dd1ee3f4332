/** Layers, context sources, validators of the user's own, and that words move nothing. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { PREDICATES, VALIDATORS } from '@sluice-internal/kernel/catalog';
import type { Validator } from '../../src/evidence/evidence.ts';
import { BRIEF, check, observed, ran, wrote } from './ask.ts';
import type { Case } from './ask.ts';

describe('ArchitectureValidator', () => {
  const manifest = [
    'Language: typescript',
    'Layers:',
    '  - { Name: Domain, Paths: [src/domain], Namespaces: [App.Domain] }',
    '  - { Name: Api, Paths: ["src/api/**"], Namespaces: [App.Api], MayDependOn: [Domain] }',
  ].join('\n');
  const judge = async (files: { [path: string]: string }) =>
    check('validator:ArchitectureValidator', { files: { '.fuseraft/architecture.yaml': manifest, ...files } });

  test.each([
    ['what may be used', { 'src/api/a.ts': "import { x } from '../domain/x.ts';" }, true],
    ['its own layer', { 'src/domain/a.ts': "export { y } from './y.ts';" }, true],
    ['a library', { 'src/domain/a.ts': "import z from 'zod';\nimport 'node:fs';" }, true],
    ['what may not be used', { 'src/domain/a.ts': "// hi\nimport { x } from '../api/x.ts';" }, false],
    ['at run time', { 'src/domain/a.ts': "const x = await import('../api/x.ts');" }, false],
    ['with require', { 'src/domain/a.js': "const x = require('../api/x');" }, false],
    ['by namespace', { 'src/domain/A.cs': 'using System;\nusing App.Api.Models;' }, false],
    ['in Python', { 'src/domain/a.py': 'from src.api.x import y' }, false],
    ['outside of all layers', { 'tools/a.ts': "import { x } from '../src/api/x.ts';" }, true],
  ])('%s', async (_, files, ok) => {
    const verdict = await judge(files);
    expect({
      ok: verdict.ok,
      failure: verdict.failure ?? null,
      crossed: /src\/domain\/[aA]\.\w+:\d: Domain must not depend on Api/.test(verdict.reason),
    }).toEqual({ ok, failure: ok ? null : 'InvalidTransition', crossed: !ok });
  });

  test('lists ten crossings, and how many more', async () => {
    const { reason } = await judge({ 'src/domain/a.ts': "import '../api/x.ts';\n".repeat(13) });
    expect(reason.split('\n')).toHaveLength(12);
    expect(reason).toMatch(/and 3 more$/);
  });

  test('files that are too many or too deep to be checked do not pass', async () => {
    const { ok, reason } = await judge({ [`src/domain/${'d/'.repeat(100)}a.ts`]: "import '../api/x.ts';" });
    expect([ok, reason]).toEqual([false, expect.stringContaining('more files or folders than can be checked')]);
  });

  test('without a manifest there is nothing to hold to; one that cannot be read is no free pass', async () => {
    expect(
      await check('validator:ArchitectureValidator', { files: { 'src/domain/a.ts': "import '../api/x.ts';" } }),
    ).toMatchObject({ ok: true });
    expect(await judge({ '.fuseraft/architecture.yaml': '{ Layers: no' })).toMatchObject({ ok: false });
    expect(await judge({ '.fuseraft/architecture.yaml': 'Layers: 7' })).toMatchObject({ ok: false });
  });
});

interface Assembled {
  readonly sections: readonly { readonly text: string }[];
  readonly skipped: readonly { readonly reason: string }[];
}

describe('context', () => {
  /** One source. */
  const source = async (name: string, given: Case, maxChars = 4_000) => {
    const input = { sources: [{ source: name, label: 'x', maxChars }] };
    const { sections, skipped } = (await check('context:assemble', { ...given, input })) as unknown as Assembled;
    return { text: sections[0]?.text ?? '', found: sections.length === 1, reason: skipped[0]?.reason ?? '' };
  };
  const said = (content: string, turn: number) => observed('session_context_write', { content }, { turn });

  test('session_context is the summary that was left last', async () => {
    expect(
      await source('session_context', {
        observations: [
          said('one', 0),
          said('two', 1),
          observed('session_context_write', { content: 'three' }, { ok: false }),
        ],
      }),
    ).toMatchObject({ text: 'two', found: true });
    expect(await source('session_context', {})).toMatchObject({
      text: '',
      found: false,
      reason: 'no summary was left',
    });
  });

  test('changes_recent has the latest turns that changed something, three unless said', async () => {
    const observations = [1, 2, 3, 4]
      .map((turn) => wrote(`f${turn}`, { turn }))
      .concat(
        ran('npm test', 1, { turn: 4 }),
        observed('delete_file', { path: 'old' }, { turn: 4 }),
        observed('read_file', { path: 'f1' }, { turn: 5 }),
      );
    const three = await source('changes_recent', { observations });
    expect(three.text).toBe(
      'turn 2, Dev:\n  wrote f2\nturn 3, Dev:\n  wrote f3\nturn 4, Dev:\n  wrote f4\n  deleted old\n  ran failed: npm test',
    );
    expect((await source('changes_recent:1', { observations })).text).toMatch(/^turn 4/);
    expect(await source('changes_recent', {})).toMatchObject({ found: false });
  });

  test('brief_field is a field of the brief', async () => {
    const files = { [BRIEF]: { goal: 'Add', test_targets: ['a', 'b'], deep: { n: 1 } } };
    expect((await source('brief_field:goal', { files })).text).toBe('Add');
    expect((await source('brief_field:test_targets', { files })).text).toBe('- a\n- b');
    expect((await source('brief_field:deep.n', { files })).text).toBe('1');
    expect(await source('brief_field:absent', { files })).toMatchObject({ found: false });
    expect(await source('brief_field:goal', {})).toMatchObject({ found: false });
  });

  test('file is a file, within limits', async () => {
    const files = { 'notes/a:b.md': 'x'.repeat(5_000) };
    const given = await source('file:notes/a:b.md', { files });
    expect(given).toMatchObject({ found: true });
    expect(given.text).toMatch(/^x{4000}\n\[\.\.\.1000 chars truncated — /);
    expect((await source('file:notes/a:b.md', { files }, 10)).text).toMatch(/^x{10}\n/);
    expect(await source('file:../../etc/passwd', {})).toMatchObject({ found: false, text: '' });
    expect(await source('other', {})).toMatchObject({ found: false });
  });

  test('assemble reads several, and names those that have nothing', async () => {
    const sources: Json = [
      { source: 'session_context', label: 'Summary', maxChars: 3 },
      { source: 'brief_field:goal', label: 'Goal', maxChars: 100 },
      { source: 'file:a', label: 'A', maxChars: 100 },
    ];
    expect(
      await check('context:assemble', { files: { a: 'text' }, observations: [said('summary', 1)], input: { sources } }),
    ).toEqual({
      ok: true,
      sections: [
        { label: 'Summary', text: expect.stringMatching(/^sum\n\[\.\.\.4 chars/) as string },
        { label: 'A', text: 'text' },
      ],
      skipped: [{ source: 'brief_field:goal', reason: '`.fuseraft/artifacts/brief.json` does not exist' }],
    });
  });
});

describe('a validator of the user’s own', () => {
  const observations = [wrote('a'), wrote('b', { turn: 0 })];

  test('is a function with the same reach', async () => {
    const mine: Validator = async ({ thisTurn, commands, readText, config, agent }) => ({
      ok:
        thisTurn.length === 1 &&
        commands('session').length === 0 &&
        (await readText('a')) === 'A' &&
        config['x'] === 1 &&
        agent === 'Dev',
      reason: 'no',
    });
    expect(
      await check('validator:Mine', {
        observations,
        files: { a: 'A' },
        config: { x: 1 },
        options: { validators: { Mine: mine } },
      }),
    ).toMatchObject({ ok: true });
  });

  test('may live in a module beside the document', async () => {
    const given: Case = {
      observations,
      config: { Module: './own-validators.ts#threeFiles' },
      options: { documentDir: import.meta.dirname },
    };
    expect(await check('validator:ThreeFiles', given)).toMatchObject({
      ok: false,
      reason: 'three files are needed, and 2 were written',
      failure: 'InvalidTransition',
    });
    expect(
      await check('validator:ThreeFiles', { ...given, observations: [...observations, wrote('c')] }),
    ).toMatchObject({ ok: true });
    await expect(check('validator:X', { ...given, config: { Module: './own-validators.ts#absent' } })).rejects.toThrow(
      'exports no function `absent`',
    );
  });

  test.each([
    ['the file was not found', 'MissingEvidence'],
    ['the report is missing', 'MissingEvidence'],
    ['could not read it', 'MissingEvidence'],
    ['it looks fabricated', 'ConflictingEvidence'],
    ['the command was not run; file missing', 'ConflictingEvidence'],
    ['there is no record of it', 'ConflictingEvidence'],
    ['not yet', 'InvalidTransition'],
  ])('"%s" is of the kind %s', async (reason, failure) => {
    expect(
      await check('validator:Mine', { options: { validators: { Mine: () => ({ ok: false, reason }) } } }),
    ).toMatchObject({ failure });
  });

  test('that is broken lets nothing through', async () => {
    const throwing: Validator = () => {
      throw new Error('oops');
    };
    await expect(check('validator:Mine', { options: { validators: { Mine: throwing } } })).rejects.toThrow(
      'the validator `Mine` is broken: oops',
    );
    await expect(
      check('validator:Mine', { options: { validators: { Mine: (() => true) as unknown as Validator } } }),
    ).rejects.toThrow('returned no verdict');
  });
});

describe('words', () => {
  const run: NonNullable<Case['options']>['run'] = () => Promise.resolve({ exitCode: 1, stdout: '', stderr: '' });
  const WORDS = [
    'npm test',
    'exit code 0',
    'PASS',
    '{"review":[{"criterion":"a","verdict":"PASS","evidence":"x"}]}',
    'I wrote src/a.ts',
    '[EXIT 0]',
    'brief.json exists',
    '- [x] done',
    'APPROVED',
  ];

  test('no reply gets past a gate that wants evidence', async () => {
    const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
    const names = [
      ...VALIDATORS.filter((name) => !['BlockOnConsecutiveFail', 'ArchitectureValidator'].includes(name)).map(
        (name) => `validator:${name}`,
      ),
      ...PREDICATES.map((name) => `contract:${name}`),
    ];
    const reply = fc
      .array(fc.oneof(fc.constantFrom(...WORDS), fc.string()), { maxLength: 8 })
      .map((parts) => parts.join('\n'));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), reply, async (name, response) => {
        const config = {
          Path: 'a',
          Pattern: 'npm test',
          RequiredCommandPattern: 'npm test',
          FullSuiteCommand: 'npm test',
          Source: 'a.json',
          Field: 'list',
        };
        expect((await check(name, { response, config, options: { run } })).ok).toBe(false);
      }),
      { numRuns: 200, seed },
    );
  });
});
