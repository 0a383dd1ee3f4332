/** What tools keep: the change log, the session's summary, requests for review; and the table of all tools. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtinTools, toolKinds } from '../../../library/src/host/performer.ts';
import {
  BUILTIN_TOOLS,
  BUILTIN_TOOL_NAMES,
  PLUGINS,
  TOOL_CATEGORIES,
  builtinTool,
} from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import { pure } from '@sluice-internal/engine/ports';
import { tools } from './call.ts';

describe('the change log', () => {
  test('has what changed, once per call, and nothing else', async () => {
    const { dir, ask } = tools();
    await ask('write_file', { path: 'a', content: '1' }, { key: 'k1' });
    await ask('write_file', { path: 'a', content: '1' }, { key: 'k1' });
    await ask('read_file', { path: 'a' });
    await ask('read_file', { path: 'absent' });
    await ask('shell_run', { command: 'exit 1' });
    await ask('shell_run', { command: 'true # git commit -m x' });
    await ask('delete_file', { path: 'a' });
    const outcome = await ask('changes');
    expect(outcome).toMatchObject({
      value: {
        entries: [
          { FilesWritten: ['a'], SessionId: 'r_test' },
          { CommandsRun: [{ Command: 'exit 1', Succeeded: false }], GitCommits: [] },
          { CommandsRun: [{ Succeeded: true }], GitCommits: ['true # git commit -m x'] },
          { FilesDeleted: ['a'] },
        ],
      },
    });
    expect(await ask('changes', { limit: 1 })).toMatchObject({ value: { entries: [{ FilesDeleted: ['a'] }] } });
    expect(JSON.parse(readFileSync(join(dir, '.fuseraft/state/changes.json'), 'utf8'))).toMatchObject({
      ActiveSessionId: 'r_test',
    });
  });

  test('keeps the changes of calls at the same time', async () => {
    const { ask } = tools();
    await Promise.all(Array.from({ length: 20 }, (_, index) => ask('write_file', { path: `f${index}`, content: 'x' })));
    const { value } = (await ask('changes', { limit: 100 })) as unknown as {
      value: { entries: { FilesWritten: string[] }[] };
    };
    expect(value.entries.flatMap(({ FilesWritten }) => FilesWritten).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, index) => `f${index}`).toSorted(),
    );
  });
});

describe('notes', () => {
  test('the session’s summary is the last one', async () => {
    const { ask } = tools();
    expect(await ask('session_context_read')).toEqual({ ok: true, value: { content: '' } });
    await ask('session_context_write', { content: 'first' });
    expect(await ask('session_context_write', { content: 'zweité' })).toEqual({ ok: true, value: { bytes: 7 } });
    expect(await ask('session_context_read')).toEqual({ ok: true, value: { content: 'zweité' } });
    expect(await ask('session_context_write', { content: 'x'.repeat(70_000) })).toMatchObject({
      ok: false,
      type: 'TooLargeError',
    });
  });

  test('a handoff says the keyword back as it came', async () => {
    const { ask } = tools();
    expect(await ask('handoff', { route_keyword: ' Bugs Found ' })).toEqual({ ok: true, value: ' Bugs Found ' });
    expect(await ask('handoff', { route_keyword: '' })).toMatchObject({ ok: false, type: 'ArgumentError' });
  });

  test('a request for review stands in its queue, once', async () => {
    const { dir, ask } = tools();
    const first = await ask(
      'review_request',
      { reason: 'odd invoice', severity: 'high', evidence: ['o1'] },
      { key: 'k1'.repeat(20) },
    );
    expect(first).toMatchObject({ ok: true, value: { queue: 'review', state: 'queued' } });
    expect(
      await ask(
        'review_request',
        { reason: 'odd invoice', severity: 'high', evidence: ['o1'] },
        { key: 'k1'.repeat(20) },
      ),
    ).toEqual(first);
    const { entries } = JSON.parse(readFileSync(join(dir, '.fuseraft/state/reviews.json'), 'utf8')) as {
      entries: Json[];
    };
    expect(entries).toMatchObject([{ reason: 'odd invoice', severity: 'high', evidence: ['o1'], run: 'r_test' }]);
  });
});

describe('the table', () => {
  const works = builtinTools(toolKinds({ workDir: '.' }));

  test.each(Object.entries(BUILTIN_TOOLS))('%s has valid schemas, a category and an implementation', (name, tool) => {
    expect(works.get(name)).toBeTypeOf('function');
    expect(TOOL_CATEGORIES).toContain(tool.category);
    expect(pure.validate(tool.input, { surely: 'not this' })).not.toBeNull();
    expect(() => pure.validate(tool.output, {})).not.toThrow();
    expect(builtinTool(name)).toMatchObject({ implementation: { builtin: name }, effect: tool.effect });
  });

  test('a tool of the catalog without an implementation is an error', () => {
    expect(() => builtinTools({})).toThrow(/only half defined: read_file/);
  });

  test('plugins grant tools that exist', () => {
    for (const name of Object.values(PLUGINS).flat()) expect(BUILTIN_TOOL_NAMES.has(name), name).toBe(true);
    expect(builtinTool('nope')).toBeUndefined();
    expect(builtinTool('constructor')).toBeUndefined();
  });
});
