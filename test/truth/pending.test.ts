/** The list of cases that do not hold yet names cases that exist, and can only become shorter. */
import { expect, test } from 'vitest';
import { allIds } from './cases.ts';

const ids = allIds();

test('every pending case exists and says what it waits for', () => {
  const known = new Set(ids.cases);
  expect(Object.keys(ids.pending).filter((id) => !known.has(id))).toEqual([]);
  expect(Object.entries(ids.pending).filter(([, row]) => !/^(\d+|section \d|contract)$/.test(String(row)))).toEqual([]);
});

test('every case has an id of its own', () => {
  expect(ids.cases.filter((id, index) => ids.cases.indexOf(id) !== index)).toEqual([]);
});
