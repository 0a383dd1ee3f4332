/** A part of `npm run sloppy`: teams that slip, and teams that cheat. */
import { expect, test } from 'vitest';
import { CHEATS } from './cheats.ts';
import { SLIPS, everySlip, type Slip } from './model.ts';
import { REPOS } from './repos.ts';
import { isFalse, playCheat, playSloppy } from './session.ts';
import { STRATEGIES } from './teams.ts';

const [, SHELL] = REPOS as [(typeof REPOS)[number], (typeof REPOS)[number]];

test.each(STRATEGIES)('a team that never slips ends well: %s', async (strategy) => {
  expect(await playSloppy(strategy, SHELL, {}, 1)).toMatchObject({ code: 'SUCCESS', done: true });
});

test.each(Object.keys(SLIPS) as Slip[])('a slip of the kind %s never makes a false success', async (slip) => {
  const played = await playSloppy('statemachine', SHELL, { [slip]: 0.5 }, 3);
  expect(isFalse(played)).toBe(false);
});

test('a team that slips in every way', async () => {
  const played = await playSloppy('keyword', SHELL, everySlip(0.1), 2);
  expect(played).toMatchObject({ code: 'SUCCESS', done: true });
});

test.each(STRATEGIES.flatMap((strategy) => CHEATS.map((cheat) => [strategy, cheat] as const)))(
  'in %s, a team that cheats does not succeed: %s',
  async (strategy, cheat) => {
    expect(isFalse(await playCheat(strategy, SHELL, cheat, 1))).toBe(false);
  },
);
