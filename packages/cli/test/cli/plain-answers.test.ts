/** Yes and no answer a question of yes or no. */
import { expect, test } from 'vitest';
import { choiceMeant, chosen } from '../../src/session/ask-person.ts';

test.each([
  ['y', ['approve', 'reject'], 'approve'],
  ['Yes', ['approve', 'reject', 'edit'], 'approve'],
  ['n', ['approve', 'reject'], 'reject'],
  ['y', ['yes', 'no'], 'y'],
  ['n', ['accept', 'send back'], 'n'],
  ['approve', ['approve', 'reject'], 'approve'],
])('%s among %j is %s', (given, choices, meant) => {
  expect(choiceMeant(given, choices)).toBe(meant);
});

test.each([
  ['y', 'approve'],
  ['no', 'reject'],
  ['app', 'approve'],
  ['2', 'reject'],
  ['maybe', undefined],
])('typed %s', (typed, choice) => {
  expect(chosen(typed, ['approve', 'reject', 'decide later'])).toBe(choice);
});
