import { describe, expect, test } from 'vitest';
import { audit, replay } from '@sluice-internal/engine/audit';
import type { Journal, StoredRun } from '@sluice-internal/engine/ports';
import { ask, end, flowOf, forkOver, runToEnd, set, tool } from './flow.ts';

const flow = flowOf({
  s: set('s', '"hello"', 'fork'),
  fork: forkOver(
    {
      heads: [
        { name: 'l', to: 'a' },
        { name: 'r', to: 'b' },
      ],
    },
    'q',
  ),
  a: tool('a', 'done'),
  b: tool('b', 'done'),
  done: end('b'),
  q: ask('q', 'end'),
  end: end('[a, q.choice, s]'),
});

async function stored(): Promise<StoredRun> {
  const { report, store, close } = await runToEnd(flow, {
    tools: { a: () => 'A', b: () => ({ big: 'x'.repeat(5000) }) },
    answer: () => ({ choice: 'approve', by: 'ann' }),
  });
  try {
    expect(report.state).toBe('completed');
    return (await store.journal.load('r', { snapshot: false })) as StoredRun;
  } finally {
    await close();
  }
}

function journalOf(run: StoredRun): Journal {
  return {
    load: async () => run,
    page: async () => run.appends,
    changes: async () => ({ items: [], next: '' }),
    commit: () => Promise.reject(new Error('read only')),
  };
}

/** One byte, changed as little as possible and as much as possible. */
function* flips(text: string, every: number): Generator<string> {
  for (let at = 0; at < text.length; at += every) {
    for (const mask of [1, 0x80])
      yield text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ mask) + text.slice(at + 1);
  }
}

async function detects(changed: StoredRun, seqs: readonly [number, number]): Promise<void> {
  const found = await audit(journalOf(changed), 'r');
  expect(found.ok).toBe(false);
  expect(found.broken?.message).toMatch(/event \d+/);
  expect(found.broken?.seq).toBeGreaterThanOrEqual(seqs[0]);
  expect(found.broken?.seq).toBeLessThanOrEqual(seqs[1]);
  await expect(replay(journalOf(changed), 'r')).rejects.toMatchObject({ code: 'chain-broken' });
}

describe('tampering', () => {
  test('L11: an unchanged journal passes', async () => {
    const run = await stored();
    expect(run.blobs.length).toBeGreaterThan(0);
    expect(await audit(journalOf(run), 'r')).toMatchObject({ ok: true, broken: null });
    expect(await replay(journalOf(run), 'r')).toMatchObject({ agrees: true });
  });

  test('L11: every changed byte of every stored event is found, and the event is named §terms/agent-run-trace', async () => {
    const run = await stored();
    for (const [index, append] of run.appends.entries()) {
      for (const body of flips(append.body, 1)) {
        const appends = run.appends.with(index, { ...append, body });
        await detects({ ...run, appends }, [append.after + 1, append.after + append.count]);
      }
    }
  });

  test('L11: a changed hash, place, time or count is found', async () => {
    const run = await stored();
    const last = run.appends.at(-1)!;
    for (const [index, append] of run.appends.entries()) {
      const changes = [
        ...[...flips(append.hash, 7)].map((hash) => ({ hash })),
        { at: append.at + 1 },
        { after: append.after + 1 },
        { count: append.count + 1 },
        { count: append.count - 1 },
      ];
      for (const change of changes)
        await detects({ ...run, appends: run.appends.with(index, { ...append, ...change }) }, [
          1,
          last.after + last.count + 1,
        ]);
    }
  });

  test('L11: every changed byte of a value that was put aside is found, and the event that names it', async () => {
    const run = await stored();
    const [blob] = run.blobs;
    if (blob === undefined) throw new Error('no blob');
    const user = run.appends.find(({ body }) => body.includes(blob.hash))!;
    for (const body of flips(blob.body, 97))
      await detects({ ...run, blobs: [{ ...blob, body }] }, [user.after + 1, user.after + user.count]);
    for (const hash of flips(blob.hash, 5))
      await detects({ ...run, blobs: [{ ...blob, hash }] }, [1, user.after + user.count]);
    await detects({ ...run, blobs: [] }, [user.after + 1, user.after + user.count]);
  });

  test('L11: an append that was left out, swapped or repeated is found', async () => {
    const run = await stored();
    const [a, b, ...rest] = run.appends;
    if (a === undefined || b === undefined) throw new Error('too short');
    for (const appends of [
      [b, ...rest],
      [a, ...rest],
      [b, a, ...rest],
      [a, b, b, ...rest],
    ])
      await detects({ ...run, appends }, [1, 100]);
  });

  test('L11: a graph that is not the one the run was pinned to is found', async () => {
    const run = await stored();
    for (const text of flips(run.flow, 13)) await detects({ ...run, flow: text }, [1, run.appends[0]?.count ?? 0]);
  });

  test('L11: a run under another name is found', async () => {
    const run = await stored();
    expect(await audit(journalOf(run), 'another')).toMatchObject({ ok: false });
  });
});
