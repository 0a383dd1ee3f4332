/** Promises about small shared values. */
import { deepEqual, equal, notEqual } from 'node:assert/strict';
import { operate, update, valueAt } from '@sluice-internal/engine/ports';
import type { Case } from './sample.ts';

export const cellCases: { readonly [promise: string]: Case } = {
  'a value is swapped only by a caller that knows the stored one': async ({ shared }) => {
    deepEqual(await shared.get('a'), { value: null, version: '' });
    equal(await shared.swap('a', 'x', 1), false);
    equal(await shared.swap('a', '', { n: [1, null, 'ä'] }), true);
    equal(await shared.swap('a', '', 2), false);
    const { value, version } = await shared.get('a');
    deepEqual(value, { n: [1, null, 'ä'] });
    equal(await shared.swap('a', version, 2), true);
    equal(await shared.swap('a', version, 3), false);
    notEqual((await shared.get('a')).version, version);
    equal(await valueAt(shared, 'a'), 2);
  },

  'of changes at once none is lost, and each result belongs to its own': async ({ shared }) => {
    const add = (): Promise<number> =>
      update(shared, 'count', (value) => [Number(value ?? 0) + 1, Number(value ?? 0) + 1]);
    const results = await Promise.all(Array.from({ length: 20 }, add));
    deepEqual(
      results.toSorted((a, b) => a - b),
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  },

  'a list has the values of a prefix in order, page by page, and none that is null': async ({ shared }) => {
    for (const key of ['p_b', 'p%a', 'p_c', 'q', 'p_a', 'p_0']) await shared.swap(key, '', key);
    await shared.swap('p_0', (await shared.get('p_0')).version, null);
    const keys = async (...given: [string, string?, number?]): Promise<readonly string[]> =>
      (await shared.list(...given)).map(({ key }) => key);
    deepEqual(await keys('p_'), ['p_a', 'p_b', 'p_c']);
    deepEqual(await keys('p_', 'p_a', 1), ['p_b']);
    deepEqual(await keys('p_', 'p_c', 1), []);
    deepEqual((await shared.list('q'))[0], { key: 'q', ...(await shared.get('q')) });
  },

  'an act is stored with its swap, or not at all': async ({ shared }) => {
    const act = { at: 1, by: 'ann', what: 'opened', why: 'test' };
    equal(await shared.swap('a', 'x', 1, act), false);
    deepEqual(await shared.acts(), []);
    await operate(shared, { ...act, key: 'a' }, () => 5);
    await operate(shared, { ...act, at: 2, by: 'ben', key: 'a' }, (value) => Number(value) + 1);
    equal(await valueAt(shared, 'a'), 6);
    const acts = await shared.acts();
    deepEqual(
      acts.map(({ at, by, key }) => [at, by, key]),
      [
        [1, 'ann', 'a'],
        [2, 'ben', 'a'],
      ],
    );
    equal((await shared.integrity()).head, acts[1]?.link);
  },
};
