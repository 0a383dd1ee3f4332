/** A part of the fault campaign: each fault once, with runs in flight. `npm run chaos:postgres` goes on for as long as it is told. */
import { expect, test } from 'vitest';
import { openCampaign, playRound } from './campaign.ts';
import type { Fault } from './campaign.ts';

const ROUNDS: readonly (readonly Fault[])[] = [
  ['worker', 'server', 'both', 'cut'],
  ['pause', 'clock', 'silence', 'deploy'],
];

test('kills of workers and of the server, pauses, partitions, clocks and deploys change nothing that a run does', async () => {
  const campaign = await openCampaign({ fsync: false });
  try {
    for (const [seed, faults] of ROUNDS.entries()) {
      const { violations, figures } = await playRound(campaign, seed, {
        faults,
        runs: 100,
        workers: 3,
        pauseMs: 3_000,
      });
      expect(violations, JSON.stringify(figures)).toEqual([]);
      expect(figures['effects']).toBe(400);
    }
  } finally {
    await campaign.close();
  }
}, 300_000);
