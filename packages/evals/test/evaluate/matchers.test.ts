/** The matchers of `sluice/testing`, on a real run. */
import { describe, expect, test } from 'vitest';
import { reportOf } from '@sluice-internal/engine/report';
import { sluiceMatchers } from '@sluice-internal/testing';
import type { SluiceMatchers } from '@sluice-internal/testing';
import { runExample } from './run-example.ts';

expect.extend(sluiceMatchers);
const expectRun = expect as unknown as (run: object) => SluiceMatchers & { readonly not: SluiceMatchers };

describe('matchers', () => {
  test('hold where they should, and say why where they do not', async () => {
    const report = reportOf(await runExample('refund.flow.yaml'));
    expectRun(report).toFollow(['triage', 'by_category', 'review', 'gate', 'pay', 'done']);
    expectRun(report).toFollow(['triage', '...', 'done']);
    expectRun(report).toFollow(['...']);
    expectRun(report).toEndWith('SUCCESS');
    expectRun(report).toStayWithin({ modelCalls: 2, toolCalls: 1, costUsd: 0 });
    expectRun(report).not.toFollow(['triage']);
    expect(() => expectRun(report).toFollow(['triage', 'pay'])).toThrow(/took the path triage > by_category/);
    expect(() => expectRun(report).toEndWith('TIMEOUT')).toThrow(/ended with SUCCESS, compared with TIMEOUT/);
    expect(() => expectRun(report).toStayWithin({ modelCalls: 1 })).toThrow('modelCalls is 2, and may be at most 1');
  });
});
