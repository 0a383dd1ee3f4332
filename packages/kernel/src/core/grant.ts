/**
 * Admits a grant: an operator adds to budgets of a run that ended because one was used up. The grant raises the budget of the
 * run, and the narrower limit of the same kind that stopped it.
 */
import { BUDGET_ROWS } from '../ir/dimensions.ts';
import { isVelocity } from '../ir/meters.ts';
import type { EventBody, Fact, Instant, Refusal, RunState, StoppedThread } from '../ir/events.ts';
import type { Meter, MeterId } from '../ir/nodes.ts';
import { addsEffects, nameOf } from './failure.ts';
import { nodeAt } from './program.ts';
import type { Program } from './program.ts';
import { stoppedThreads } from './reopen.ts';

type Grant = Extract<Fact, { type: 'grant' }>;
type Granted = Extract<EventBody, { type: 'budget.granted' }>;

/** The budget of time, beside the counted ones. */
const TIME_BUDGET = 'wall_clock_seconds';

export function grant(program: Program, state: RunState, fact: Grant, at: Instant): readonly EventBody[] | Refusal {
  const stops = stoppedThreads(state);
  const refusal = refusalOf(program, state, stops, { ...fact, at });
  if (refusal !== null) return refusal;
  const events: Granted[] = [];
  for (const each of fact.grants) {
    const granted = grantOf(program, state, stops, { ...each, by: fact.by, at });
    if ('refused' in granted) return granted;
    events.push(granted);
  }
  return events;
}

function refusalOf(
  program: Program,
  state: RunState,
  stops: readonly StoppedThread[],
  { by, at }: Pick<Grant, 'by'> & { readonly at: Instant },
): Refusal | null {
  const { run, outcome, origin } = state;
  const notStopped = (why: string): Refusal => ({ refused: 'resume-not-stopped', message: `run \`${run}\` ${why}` });
  if (Object.hasOwn(program.flow.agents, by))
    return { refused: 'self-approval', message: `\`${by}\` is an agent of the run, and an agent adds to no budget` };
  if (outcome === null) return notStopped('has not ended');
  const isSpent = outcome.code === 'BUDGET_EXHAUSTED' || outcome.code === 'TIMEOUT';
  if (!isSpent) return notStopped(`ended with ${outcome.code}, and not because a budget was used up`);
  if (stops.length === 0)
    return notStopped(`ended with ${outcome.code}, but no call was refused by a budget of the run`);
  if (origin.deadline !== undefined && at >= origin.deadline)
    return notStopped('has passed the deadline of its caller, which cannot be moved');
  const undone = (why: string): Refusal => ({ refused: 'resume-undone', message: `run \`${run}\` ${why}` });
  if (stops.some((stop) => stop.undone === true)) return undone('has undone what it did');
  const unknown = stops.map((stop) => cutOffEffect(program, stop)).find((name) => name !== null);
  return unknown === undefined
    ? null
    : undone(`ended during a call of \`${unknown}\`, and it is not known whether that happened`);
}

/** The name of a call that was cut off and must not be made twice. */
function cutOffEffect(program: Program, { at, doing, unsent }: StoppedThread): string | null {
  if (doing.is !== 'waiting' || doing.control === true || unsent === true) return null;
  const node = nodeAt(program, at);
  return node.op === 'do' && addsEffects(program.flow, node) ? nameOf(node) : null;
}

interface OneGrant {
  readonly dimension: string;
  readonly amount: number;
  readonly by: string;
  readonly at: Instant;
}

function grantOf(
  { flow }: Program,
  state: RunState,
  stops: readonly StoppedThread[],
  { dimension, amount, by, at }: OneGrant,
): Granted | Refusal {
  const bad = (message: string): Refusal => ({ refused: 'bad-budget', message });
  const unit = unitOf(dimension);
  if (unit === null) return bad(`there is no budget \`${dimension}\``);
  const added = Math.round(amount * unit.scale);
  if (!(added > 0) || !Number.isSafeInteger(added))
    return bad(`\`${dimension}\` cannot grow by ${amount}: give an amount above zero`);
  const hit = new Set(stops.map(({ meter }) => meter));
  const isMeant = ([id, meter]: readonly [MeterId, Meter]): boolean =>
    meter.unit === unit.unit &&
    meter.max !== null &&
    !isVelocity(meter) &&
    (OWN.has(id) || id === flow.clock || hit.has(id));
  const raises = Object.entries(flow.meters)
    .filter(isMeant)
    .map(([meter]) => ({ meter, by: added }))
    .sort((a, b) => (a.meter < b.meter ? -1 : 1));
  if (raises.length === 0)
    return bad(`run \`${state.run}\` was not stopped by \`${dimension}\`, and has no such budget`);
  const granted = { type: 'budget.granted', by, dimension, amount, raises } as const;
  const isTime = state.deadline !== null && raises.some(({ meter }) => meter === flow.clock);
  // Granted time begins now: the time since the deadline does not reduce it.
  return isTime ? { ...granted, deadline: Math.max((state.deadline ?? at) + at - state.now, at) + added } : granted;
}

/** The meters of the run itself. Others belong to an agent or to a part of the flow. */
const OWN: ReadonlySet<MeterId> = new Set(BUDGET_ROWS.flatMap(({ name }) => [name, `budget.${name}`]));

function unitOf(dimension: string): { readonly unit: Meter['unit']; readonly scale: number } | null {
  if (dimension === TIME_BUDGET) return { unit: 'time', scale: 1000 };
  const row = BUDGET_ROWS.find(({ key }) => key === dimension);
  return row === undefined ? null : { unit: row.name, scale: row.scale };
}
