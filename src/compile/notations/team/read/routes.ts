/** Reads the routes of the keyword and the structured strategy, and says which of them nobody can ever take. */
import type { Path } from '../../../source/located.ts';
import { isTerminal, mayTake, same } from '../strategies/keyword.ts';
import type { Route } from '../strategies/keyword.ts';
import type { Reading } from '../model.ts';
import { readChecks } from './checks.ts';
import type { RawStructuredRoute } from '../schema/routes.ts';

export function readRoutes(reading: Reading): readonly Route[] {
  const { body, report } = reading;
  const raw = body.value.Selection.Routes ?? [];
  if (raw.length === 0 && body.sound)
    report.error('missing-field', body.at('Selection'), 'keyword selection needs at least one entry in `Routes`');
  const routes = raw.map((route, index): Route => {
    const path: Path = ['Selection', 'Routes', index];
    reading.agent(route.Agent, [...path, 'Agent']);
    for (const [at, name] of (route.SourceAgents ?? []).entries()) reading.agent(name, [...path, 'SourceAgents', at]);
    if (route.RecoveryAgent !== undefined) reading.agent(route.RecoveryAgent, [...path, 'RecoveryAgent']);
    return { raw: route, checks: readChecks(route, path, reading), path };
  });
  warnOfCovered(routes, reading);
  warnOfShadows(
    routes.map(({ raw: { Keyword }, path }) => [Keyword, [...path, 'Keyword']]),
    reading,
  );
  return routes;
}

/** A later route with the same keyword is left only those agents that no earlier one takes. */
function warnOfCovered(routes: readonly Route[], { report, at, names }: Reading): void {
  for (const [index, { raw, path }] of routes.entries()) {
    const earlier = routes.slice(0, index).filter((each) => same(each.raw.Keyword, raw.Keyword));
    if (
      earlier.length === 0 ||
      [...names.all].some((agent) => mayTake(raw, agent) && !earlier.some((each) => mayTake(each.raw, agent)))
    )
      continue;
    report.warning(
      'unreachable-route',
      at(...path, 'Keyword'),
      `the route \`${raw.Keyword}\` to \`${raw.Agent}\` is never taken: an earlier route with the same keyword always is`,
      {
        help: 'Leave it out, or give the two different `SourceAgents`.',
      },
    );
  }
}

/** A keyword counts at the start of a line, so one that begins another can be read into it. */
export function warnOfShadows(words: readonly (readonly [string, Path])[], { report, at }: Reading): void {
  const told = new Set<string>();
  for (const [short] of words) {
    for (const [long, path] of words) {
      const [a, b] = [short.trim().toLowerCase(), long.trim().toLowerCase()];
      if (a === b || told.has(`${a}\n${b}`) || !b.startsWith(a) || !/^[\s\p{P}]/u.test(b.slice(a.length))) continue;
      told.add(`${a}\n${b}`);
      report.warning(
        'shadowed-keyword',
        at(...path),
        `\`${short}\` begins \`${long}\`, so that a line may seem to say both`,
        { help: 'The longer one wins on its line. Better, choose words that do not begin alike.' },
      );
    }
  }
}

export function readStructuredRoutes(reading: Reading): readonly RawStructuredRoute[] {
  const { body, report } = reading;
  const routes = body.value.Selection.StructuredRoutes ?? [];
  if (routes.length === 0 && body.sound)
    report.error(
      'missing-field',
      body.at('Selection'),
      'structured selection needs at least one entry in `StructuredRoutes`',
    );
  for (const [index, { Agent, SourceAgents, Condition }] of routes.entries()) {
    const path: Path = ['Selection', 'StructuredRoutes', index];
    reading.agent(Agent, [...path, 'Agent']);
    for (const [at, name] of (SourceAgents ?? []).entries()) reading.agent(name, [...path, 'SourceAgents', at]);
    const set = OPERATORS.filter((operator) => Condition[operator] !== undefined);
    if (set.length === 0 && !reading.body.damaged(...path, 'Condition'))
      report.error(
        'missing-field',
        body.at(...path, 'Condition'),
        `the condition on \`${Condition.Field}\` has no operator`,
        { help: `Set one of ${OPERATORS.map((each) => `\`${each}\``).join(', ')}.` },
      );
    for (const extra of set.slice(1))
      report.warning(
        'unused-field',
        body.key(...path, 'Condition', extra),
        `\`${extra}\` has no effect beside \`${set[0] ?? ''}\``,
        { help: 'Set one operator per condition.' },
      );
  }
  return routes;
}

const OPERATORS = ['Is', 'IsNot', 'Contains', 'Exists'] as const;

/** Who can come to have a turn, from the first one on. */
export function speakers(first: string, nextOf: (agent: string) => Iterable<string>): ReadonlySet<string> {
  const found = new Set([first]);
  for (const agent of found) for (const next of nextOf(agent)) found.add(next);
  return found;
}

/** After whom a route's agent can follow. Nothing said leads to the first one again. */
export function followers(routes: readonly Route[]): (agent: string) => Iterable<string> {
  return (agent) => routes.filter(({ raw }) => mayTake(raw, agent) && !isTerminal(raw)).map(({ raw }) => raw.Agent);
}
