/** Checks the routes of a node, one by one and against each other: each route can be taken, and their order makes sense. */
import type { Expr } from '@sluice-internal/kernel/ir';
import { isEmpty, overlap, quote, regionOf, within } from '@sluice-internal/compile/expressions';
import type { Region } from '@sluice-internal/compile/expressions';
import type { Range, Report } from '@sluice-internal/compile/source';
import type { Expressions } from './expressions.ts';
import { isCatchAll, type FlowNode, type RouteValue } from './model.ts';

/** A checked condition and where it stands. */
interface Guard {
  readonly source: string;
  readonly region: Region | null;
  readonly at: Range;
}

export interface Route {
  /** Null: always. */
  readonly when: Expr | null;
  readonly to: string;
}

/** Routes or branches whose `when` is a condition. */
export function guardedRoutes(
  node: FlowNode,
  field: 'routes' | 'branches',
  routes: readonly RouteValue[],
  expressions: Expressions,
  report: Report,
): readonly Route[] {
  const guards: Guard[] = [];
  const exclusive = field === 'routes';
  if (exclusive) reportAfterCatchAll(node, routes, report);
  return routes.map((route, index) => {
    if (isCatchAll(route)) return { when: null, to: route.to };
    const at = node.at(field, index, 'when');
    const checked = expressions.expression(node.id, node.located(field, index, 'when'), exclusive);
    if (checked === null) return { when: 'false', to: route.to };
    const { source, kind, constant } = checked;
    if (!['bool', 'any', 'null'].includes(kind))
      report.error('type-mismatch', at, `a condition must be true or false, but this one is a ${kind}`, {
        help: 'Compare it, such as `x == 1`.',
      });
    const region = regionOf(source);
    if (constant === false || (region !== null && isEmpty(region)))
      report.warning('never-holds', at, 'this condition never holds', { help: 'Correct it, or remove the route.' });
    else if (exclusive) compare({ source, region, at }, guards, report);
    guards.push({ source, region, at });
    if (exclusive && constant === true) reportAfter(node, index, routes.length, report);
    return { when: guarded(source), to: route.to };
  });
}

/** A decision's routes name values, which are compared as text. */
export function decisionRoutes(
  node: FlowNode,
  value: { readonly slot: Expr; readonly expr: string; readonly kind: string },
  expressions: Expressions,
  report: Report,
): readonly Route[] {
  const { routes } = node.value;
  const seen = new Map<string, Range>();
  reportAfterCatchAll(node, routes, report);
  return routes.map((route, index) => {
    if (isCatchAll(route)) return { when: null, to: route.to };
    const wanted = route.when ?? '';
    const at = node.at('routes', index, 'when');
    const first = seen.get(wanted);
    if (first !== undefined) {
      report.warning('unreachable-route', at, `an earlier route already takes \`${wanted}\``, {
        help: 'Remove it, or correct the value.',
        related: [{ message: 'the earlier one is here', at: first }],
      });
    }
    seen.set(wanted, first ?? at);
    if (wanted.includes('{{'))
      return {
        when: `text(${value.slot}) == text(${expressions.template(node.id, node.located('routes', index, 'when'), wanted)})`,
        to: route.to,
      };
    reportImpossible(node, value, wanted, at, expressions, report);
    return { when: `text(${value.slot}) == ${quote(wanted)}`, to: route.to };
  });
}

function reportImpossible(
  node: FlowNode,
  value: { readonly expr: string; readonly kind: string },
  wanted: string,
  at: Range,
  expressions: Expressions,
  report: Report,
): void {
  const problem = value.kind === 'string' ? expressions.matches(node.id, value.expr, wanted) : null;
  const boolean = value.kind === 'bool' && wanted !== 'true' && wanted !== 'false';
  const number = value.kind === 'number' && String(Number(wanted)) !== wanted;
  if (problem === null && !boolean && !number) return;
  const message = problem?.message ?? `the value is a ${value.kind}, which never reads \`${wanted}\``;
  report.warning('never-holds', at, message, { help: problem?.help });
}

function reportAfterCatchAll(node: FlowNode, routes: readonly RouteValue[], report: Report): void {
  const first = routes.findIndex((route, index) => isCatchAll(route) && !node.poisoned('routes', index, 'when'));
  if (first >= 0) reportAfter(node, first, routes.length, report);
}

/** Reports one mistake: a route that always matches comes too early. */
function reportAfter(node: FlowNode, index: number, count: number, report: Report): void {
  if (index + 1 >= count) return;
  report.warning(
    'unreachable-route',
    node.at('routes', index + 1),
    `this route on flow node '${node.id}' is never taken, because the one before it always matches`,
    {
      help: 'Move the route that always matches to the end.',
      related: [{ message: 'this one always matches', at: node.at('routes', index) }],
    },
  );
}

/** Above this number, pairs of routes are not compared. */
const COMPARED_MAX = 100;

function compare(guard: Guard, earlier: readonly Guard[], report: Report): void {
  const same = earlier.find(({ source }) => source === guard.source);
  if (same !== undefined) {
    report.warning(
      'unreachable-route',
      guard.at,
      'an earlier route has the same condition, so this one is never taken',
      {
        related: [{ message: 'the earlier one is here', at: same.at }],
        help: 'Correct one of the two conditions, or remove this route.',
      },
    );
    return;
  }
  const { region } = guard;
  if (region === null) return;
  for (const before of earlier.slice(-COMPARED_MAX)) {
    if (before.region === null || !overlap(region, before.region)) continue;
    const covered = within(region, before.region);
    // The narrower one first is the usual way to write an exception.
    if (!covered && within(before.region, region)) continue;
    const message = covered
      ? 'an earlier route takes every case of this condition'
      : 'this condition and an earlier one can both hold, and the earlier one wins';
    report.warning('overlapping-guards', guard.at, message, {
      help: covered ? 'Put the narrower condition first.' : 'Make them exclude each other, if that is what is meant.',
      related: [{ message: 'the earlier one is here', at: before.at }],
    });
    return;
  }
}

/** With the rules of guards for values of unlike types. A comment must not swallow the parenthesis. */
export function guarded(source: Expr): Expr {
  return `guard(${source}${source.includes('//') ? '\n' : ''})`;
}
