/** What a loop says that no run could act on: a breaker that cannot trip, a plan that nobody approves, readings that are the same. */
import { declareIds } from '../../document/names.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { Shaped } from '../../document/shape/shape.ts';
import { breakerOf } from './presets.ts';
import type { RawLoop } from './schema.ts';

export function checkNumbers(body: Shaped<RawLoop>, report: Report): void {
  const { breaker = {} } = body.value;
  const { identical, window } = breakerOf(breaker);
  if (identical <= window) return;
  const field = breaker.identical === undefined ? 'window' : 'identical';
  report.error(
    'bad-value',
    body.at('breaker', field),
    `${identical} identical calls never come among the last ${window}, so that this breaker cannot trip`,
    { help: `Set \`breaker.identical\` to at most ${window}, or \`breaker.window\` to at least ${identical}.` },
  );
}

/** Without anybody to agree to it, no plan would ever be carried out. */
export function checkPeople(body: Shaped<RawLoop>, report: Report): void {
  const { plan, escalation } = body.value;
  if (plan?.approve !== true || escalation?.people !== false) return;
  report.error('bad-value', body.at('plan', 'approve'), 'a plan waits for approval here, and nobody can be asked', {
    help: 'Leave out `plan.approve`, or set `escalation.people` to true.',
  });
}

export function checkIntents(body: Shaped<RawLoop>, report: Report): void {
  declareIds(body.located('intents'), report, {
    what: 'intent',
    reserved: { reject: 'it is the answer that takes none of them' },
  });
}
