/** Usage against budgets, as one line for the live view. */
import { BUDGET_ROWS, isMeasured, shownAmount, type Dimension } from '../../../ir/dimensions.ts';
import type { CompiledFlow, Meter } from '../../../ir/nodes.ts';
import { isCounted } from '../../../ir/meters.ts';
import type { Event } from '../../../ir/events.ts';
import { dollars, grouped } from '../text.ts';

export interface Spending {
  take(event: Event): void;
  /** `steps 3 of 100 · calls 2 · tokens 300 · $0.0012 of $0.50` */
  line(): string;
}

export function createSpending(flow: CompiledFlow): Spending {
  const used: { [dimension in Dimension]?: number } = {};
  const limits = limitsOf(flow);
  const names = new Map<string, string>();
  const add = (dimension: Dimension, amount: number): void => {
    used[dimension] = (used[dimension] ?? 0) + amount;
  };
  const called = (kind: string | undefined): void => {
    for (const { name, call } of BUDGET_ROWS) if (call !== undefined && call === kind) add(name, 1);
  };
  return {
    take: (event) => {
      if ('charge' in event) add('steps', event.charge?.filter((meter) => meter === STEPS).length ?? 0);
      if (event.type === 'effect.requested') {
        names.set(event.key, event.kind);
        called(event.kind);
      } else if (event.type === 'undo.requested') add('toolCalls', 1);
      else if (event.type === 'effect.judged' && event.verdict === 'retry') {
        if (event.transport !== true && event.continues !== true) called(names.get(event.key));
      } else if (event.type === 'effect.settled') {
        for (const { name } of SHOWN) if (isMeasured(name)) add(name, event.result.used?.[name] ?? 0);
      }
    },
    line: () =>
      SHOWN.flatMap(({ name: dimension, live = '' }) => {
        const amount = used[dimension] ?? 0;
        const limit = limits.get(dimension);
        if (amount === 0 && limit === undefined) return [];
        const of = limit === undefined ? '' : ` of ${amountText(dimension, limit)}`;
        return [`${live} ${amountText(dimension, amount)}${of}`.trimStart()];
      }).join(' · '),
  };
}

/** The meter that every entered node charges. */
const STEPS = 'steps';

const SHOWN = BUDGET_ROWS.filter(({ live }) => live !== undefined);

function amountText(dimension: Dimension, amount: number): string {
  return dimension === 'costMicros' ? dollars(shownAmount(dimension, amount)) : grouped(amount);
}

/** The run's budget of each dimension. */
function limitsOf(flow: CompiledFlow): ReadonlyMap<Dimension, number> {
  const limits = new Map<Dimension, number>();
  const steps = flow.meters[STEPS]?.max ?? null;
  if (steps !== null) limits.set('steps', steps);
  for (const { unit, max, label } of Object.values<Meter>(flow.meters)) {
    if (max === null || !isCounted(unit) || !label.startsWith('budgets.')) continue;
    limits.set(unit, Math.min(max, limits.get(unit) ?? Infinity));
  }
  return limits;
}
