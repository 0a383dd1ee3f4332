/** Whatever a contestant does, the others are measured to the end and its own trouble is reported by name. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runShape } from '../../bench/rounds.ts';
import type { Round } from '../../bench/rounds.ts';
import { SHAPES } from '../../bench/shape.ts';

const module = join(import.meta.dirname, 'fixtures', 'contestants.ts');

test('each contestant is measured once a round, beside the bare loop of that round', async () => {
  const { samples, failures } = await play('steady');
  expect(samples.map((sample) => sample.contestant)).toEqual(['bare', 'steady', 'bare', 'steady']);
  expect(samples[1]?.bare).toBe(samples[0]?.measurement);
  expect(failures).toEqual([]);
});

test('one that cannot run here, or lacks the shape, is announced and is no failure', async () => {
  const { samples, hellos, failures } = await play('absent', 'lacking', 'steady');
  expect(hellos.map((hello) => hello.name)).toEqual(['bare', 'absent', 'lacking', 'steady']);
  expect(new Set(samples.map((sample) => sample.contestant))).toEqual(new Set(['bare', 'steady']));
  expect(failures).toEqual([]);
});

test('one that throws, dies or does not exist is reported, and the rest go on', async () => {
  const { samples, failures } = await play('throwing', 'dying', 'nobody', 'steady');
  expect(failures).toHaveLength(3);
  expect(failures[0]).toContain('the store is gone');
  expect(failures[1]).toContain('exited with 7');
  expect(failures[2]).toContain('exports no nobody');
  expect(samples.filter((sample) => sample.contestant === 'steady')).toHaveLength(2);
});

async function play(...names: string[]): Promise<Round> {
  const shape = SHAPES.find((candidate) => candidate.id === 'fanout-1000');
  if (shape === undefined) throw new Error('the shape is gone');
  const entries = names.map((name) => ({ name, module }));
  return runShape(shape, entries, { rounds: 2, budgetMs: 60_000, warmUpMs: 1 });
}
