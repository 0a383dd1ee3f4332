/** The checks of a section `protections`: of a document, and of a stage. */
import type { Report } from '../source/diagnostics.ts';
import { checkAgent, type Names } from './names.ts';
import { protectionsOf } from './protections.ts';
import type { RawProtections } from './schema/protections.ts';
import type { Places } from './shape/shape.ts';

/** The section, in its places. */
export interface ProtectionsPlace extends Places {
  /** The names that the section may use; null if the document declares none, and so any name may be meant. */
  readonly models: Names | null;
  readonly agents: Names | null;
  readonly report: Report;
}

export function checkProtections(raw: RawProtections | undefined, place: ProtectionsPlace): void {
  if (raw === undefined) return;
  for (const key of Object.keys(OFF) as Switch[]) {
    if (raw[key] !== false) continue;
    const [message, help] = OFF[key];
    place.report.warning('protection-off', place.at(key), message, { help });
  }
  checkLoop(raw, place);
  checkCheaper(raw, place);
  checkNames(raw, place);
}

type Switch = Exclude<keyof RawProtections, 'tier' | 'on_failure'>;

/** The risk of switching each protection off, and the alternative. */
const OFF: { readonly [key in Switch]: readonly [message: string, help: string] } = {
  hops: [
    'the hop limit is off: agents may hand a task on without end, until a budget is used up',
    'Remove `hops: false`, or set a smaller `budgets.model_calls`.',
  ],
  depth: ['the depth limit is off: nested teams may start further teams without end', 'Remove `depth: false`.'],
  spawn: [
    'the spawn limit is off: a model decides how many tasks are started, and each one costs money',
    'Remove `spawn: false`, or set `budgets.cost_usd`.',
  ],
  loop: [
    'the loop detector is off: an agent that repeats a call stops only when a budget is used up',
    'Remove `loop: false`, or set a smaller `budgets.tool_calls`.',
  ],
  breaker: [
    'the circuit breaker is off: calls go on to a model that keeps failing, and each one is paid',
    'Remove `breaker: false`, or set `budgets.retries`.',
  ],
  retry_budget: [
    'the retry budget is off: in an outage every call is repeated, by all runs at once',
    'Remove `retry_budget: false`, or set a larger `share`.',
  ],
  velocity: [
    'the velocity limit is off: a run may spend its whole budget within seconds',
    'Remove `velocity: false`, or set `budgets.cost_usd`.',
  ],
  deadlock: [
    'the deadlock monitor is off: agents that wait for each other stop only when a budget is used up',
    'Remove `deadlock: false`, or set a smaller `budgets.model_calls`.',
  ],
};

function checkLoop(raw: RawProtections, place: ProtectionsPlace): void {
  const { loop } = protectionsOf(raw);
  if (loop === null || loop.identical <= loop.window) return;
  const field = typeof raw.loop === 'object' && raw.loop.identical !== undefined ? 'identical' : 'window';
  place.report.error(
    'bad-value',
    place.at('loop', field),
    `the last ${loop.window} calls cannot contain ${loop.identical} identical ones`,
    { help: `Set \`identical\` to at most ${loop.window}, or \`window\` to at least ${loop.identical}.` },
  );
}

/** `cheaper` without a model would change nothing. */
function checkCheaper({ velocity }: RawProtections, place: ProtectionsPlace): void {
  if (typeof velocity !== 'object' || velocity.on_trip !== 'cheaper' || velocity.fallback !== undefined) return;
  place.report.error(
    'missing-field',
    place.at('velocity', 'on_trip'),
    '`on_trip: cheaper` needs a model to change to',
    { help: 'Add `fallback: { model: … }` to `velocity`.' },
  );
}

/** Models and agents that a protection names must exist, or it would protect nothing. */
function checkNames({ breaker, velocity }: RawProtections, place: ProtectionsPlace): void {
  const { models, agents, report } = place;
  const model = (alias: string, key: string): void => {
    if (models === null || alias.includes('/') || models.has(alias)) return;
    report.error('unknown-model', place.at(key, 'fallback', 'model'), `unknown model \`${alias}\` on \`${key}\``, {
      help: models.help(alias, 'Declare it under `models`, or write `provider/model`.'),
    });
  };
  if (typeof breaker === 'object' && breaker.fallback !== undefined && 'model' in breaker.fallback)
    model(breaker.fallback.model, 'breaker');
  if (typeof velocity !== 'object') return;
  if (velocity.fallback !== undefined) model(velocity.fallback.model, 'velocity');
  if (agents === null) return;
  for (const agent of Object.keys(velocity.agents ?? {}))
    checkAgent(agents, agent, 'velocity', place.key('velocity', 'agents', agent), report);
}
