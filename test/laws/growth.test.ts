import { describe, expect, test } from 'vitest';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import type { Store } from '@sluice-internal/engine/ports';
import { end, flowOf, forkOver, meter, pick, runToEnd, tool } from './flow.ts';

/** A conversation of so many turns: each call is sent the whole history, and its reply is appended to it. */
function conversation(turns: number): CompiledFlow {
  const writes = [{ slot: 'history', mode: 'append', value: 'it' }] as const;
  const nodes = {
    turn: tool('turn', 'more', { charges: ['visits'], effect: { input: { messages: 'history' } }, writes }),
    more: pick(`size(history) < ${turns}`, 'turn', 'end'),
    end: end('size(history)'),
  };
  return flowOf(nodes, { meters: { visits: meter('visits', turns + 1) } });
}

async function bytesOf(store: Store): Promise<number> {
  const stored = await store.journal.load('r', { snapshot: false });
  const texts = [
    ...(stored?.appends ?? []).flatMap(({ body, hash }) => [body, hash]),
    ...(stored?.blobs ?? []).flatMap(({ body, hash }) => [body, hash]),
  ];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

async function journalOf(turns: number, length: number): Promise<{ bytes: number; said: number; snapshots: number }> {
  let said = 0;
  let count = 0;
  const turn = (): { role: string; content: string } => {
    const message = { role: 'assistant', content: `${count++} `.padEnd(length, 'words and ') };
    said += Buffer.byteLength(JSON.stringify(message));
    return message;
  };
  const { report, store, close } = await runToEnd(conversation(turns), { tools: { turn } });
  try {
    expect(report).toMatchObject({ state: 'completed', output: turns });
    const snapshot = (await store.journal.load('r'))?.snapshot;
    return { bytes: await bytesOf(store), said, snapshots: snapshot?.body.length ?? 0 };
  } finally {
    await close();
  }
}

describe('growth', () => {
  test('L9: the journal of a conversation of 1,000 turns is within 3 times the bytes of its messages §modes/long-run-soak', async () => {
    const { bytes, said } = await journalOf(1000, 400);
    console.log(`1,000 turns: ${said} bytes said, ${bytes} bytes stored`);
    expect(bytes).toBeLessThan(3 * said);
  });

  test('L9: bytes grow linearly with the messages that are appended', async () => {
    const sizes = [50, 100, 200, 400, 800];
    const points: { x: number; y: number }[] = [];
    for (const turns of sizes) points.push({ x: Math.log(turns), y: Math.log((await journalOf(turns, 100)).bytes) });
    const exponent = slope(points);
    console.log(`exponent ${exponent.toFixed(3)}`);
    expect(exponent).toBeGreaterThan(0.9);
    expect(exponent).toBeLessThan(1.05);
  });

  test('L9: a big value that is passed on is stored once', async () => {
    const big = 'x'.repeat(100_000);
    const hops = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [
        `n${i}`,
        tool('pass', i === 19 ? 'end' : `n${i + 1}`, { effect: { input: { value: i === 0 ? 'input' : 'pass' } } }),
      ]),
    );
    const { report, store, close } = await runToEnd(
      flowOf({ ...hops, end: end('pass') }),
      { tools: { pass: ({ command }) => command.input['value'] as string } },
      big,
    );
    try {
      expect(report.output).toBe(big);
      expect(await bytesOf(store)).toBeLessThan(1.2 * big.length);
    } finally {
      await close();
    }
  });

  test('L9: a wide fork stores each item and each outcome about once', async () => {
    const items = Array.from({ length: 300 }, (_, i) => `item ${i} `.padEnd(300, '.'));
    const said = JSON.stringify(items).length;
    const nodes = {
      fork: forkOver({ each: 'input', as: 'item', head: 'a' }, 'end'),
      a: tool('a', 'done', { effect: { input: { item: 'item' } } }),
      done: end('a'),
      end: end('size(all)'),
    } as const;
    const { report, store, close } = await runToEnd(
      flowOf(nodes),
      { tools: { a: ({ command }) => command.input['item'] as string } },
      items,
    );
    try {
      expect(report.output).toBe(300);
      expect(await bytesOf(store)).toBeLessThan(4 * said);
    } finally {
      await close();
    }
  });
});

function slope(points: readonly { readonly x: number; readonly y: number }[]): number {
  const mean = (of: (point: { x: number; y: number }) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  return mean((point) => (point.x - x) * (point.y - y)) / mean((point) => (point.x - x) ** 2);
}
