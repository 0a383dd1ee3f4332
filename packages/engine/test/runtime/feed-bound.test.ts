/** What waits for a reader of a run has a bound: one who stops reading does not fill the memory. */
import { compile, createEngine, openMemory } from '@sluice-internal/library';
import { expect, test } from 'vitest';
import { OpenRuns } from '../../src/journal/open-run.ts';
import { Feed } from '../../src/worker/feed.ts';

const GATE = 'flow: { id: gate, entry: ask, nodes: [{ id: ask, type: approval, message: Go on? }] }';

/** How many of so many events a reader gets who did not read while they were told, and whom the journal gives nothing more. */
async function told(count: number): Promise<number> {
  const store = openMemory();
  await using engine = createEngine({ journal: store });
  const run = await engine.start(compile(GATE), { input: {} });
  await engine.wait(run);
  const feed = new Feed(new OpenRuns(), (work) => work());
  const stored = (await store.journal.page(run, 0, 100)).reduce((sum, each) => sum + each.count, 0);
  const stop = new AbortController();
  const reader = feed.follow(store.journal, run, { after: 0, live: true, deltas: false, signal: stop.signal });
  for (let read = 0; read < stored; read += 1) await reader.next();
  const next = reader.next();
  await new Promise((resolve) => void setTimeout(resolve, 20));
  for (let seq = stored + 1; seq <= stored + count; seq += 1)
    feed.publish(run, [{ type: 'clock.advanced', seq, at: 1 } as never], 'head', 'hash');
  setTimeout(() => stop.abort(), 1000);
  let got = 0;
  for (let each = await next; each.done !== true; each = await reader.next()) got += 1;
  return got;
}

test('a reader who stops for a while gets everything, and one who stops for longer goes on from the journal', async () => {
  expect(await told(900)).toBe(900);
  // The queue was dropped. The journal of this test has none of these events.
  expect(await told(50_000)).toBe(0);
});
