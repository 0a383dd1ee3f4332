/** The stages as a graph: plan, the work of the topology, aggregate, validate, finalize. */
import type { Node, NodeId, Tier } from '@sluice-internal/kernel/ir';
import { UNREACHABLE } from '@sluice-internal/compile/document';
import type { Protections } from '@sluice-internal/compile/document';
import { OBSERVATIONS, createBuilder, createKit, recoveryStart, set } from '@sluice-internal/compile/lower';
import type { Builder, Kit, Lowered, StageProtections } from '@sluice-internal/compile/lower';
import type { Range } from '@sluice-internal/compile/source';
import { addFinish } from './finish.ts';
import { entryOf, inScope, nameOf, type Lowering, type Scopes } from './lowering.ts';
import type { Staged } from './model.ts';
import { addPlan } from './plan.ts';
import { rollbackStart } from './rollback.ts';
import {
  AGGREGATE,
  CRITIQUE,
  FEEDBACK,
  LAST_PLAN,
  LOST,
  OUTPUT,
  PARTIAL,
  PLAN,
  REJECTED,
  REQUEST,
  RESULT,
  ROUND,
  ROUNDS,
  SUMMARIES,
  TASKS,
  TRIPPED,
  VALIDATION,
  VERDICT,
} from './slots.ts';
import { visitsOf } from './kinds.ts';
import { addBoard } from './topologies/board.ts';
import { addDebate } from './topologies/debate.ts';
import { addPeers } from './topologies/peers.ts';
import { addProcedure } from './topologies/procedure.ts';
import { addSwarm } from './topologies/swarm.ts';
import { addWorkers } from './topologies/workers.ts';
import { addTeams } from './topologies/teams.ts';

export function lowerStaged(staged: Staged, at: Range): Lowered {
  const scopes: Scopes = { current: null };
  const builder = createBuilder('staged', definitionsFor(staged, scopes), {
    monitored: false,
    stage: () => stageIn(scopes, staged.tier),
    approvers: () => scopes.current?.approvers,
    complete: (_, node) => inScope(scopes, node),
  });
  const kit = createKit(builder, at);
  const entry = addStages({
    kit,
    builder,
    staged,
    scopes,
    prefix: '',
    startsMax: 1,
    request: 'input',
    finished: addEnds(kit, builder),
  });
  return builder.build({
    id: staged.id,
    entry,
    tier: staged.tier,
    view: { judgement: { rejected: REJECTED, violations: '_violations', reason: '_reason' } },
  });
}

/** In the regulated tier no other model takes over. In the interactive tier the model of the breaker does after the retries. */
function definitionsFor({ tier, definitions }: Staged, scopes: Scopes): Staged['definitions'] {
  const { models } = definitions;
  const named = { ...definitions, protections: { ...definitions.protections, tier } };
  if (tier === 'batch') return named;
  if (tier === 'regulated')
    return {
      ...named,
      protections: withoutOtherModel(named.protections),
      models: { ...models, withFallback: (node) => node },
    };
  const withFallback: typeof models.withFallback = (node, agents) => {
    const { breaker } = scopes.current?.own?.protections ?? named.protections;
    return withOtherModel(models.withFallback(node, agents), breaker);
  };
  return { ...named, models: { ...models, withFallback } };
}

function stageIn({ current }: Scopes, tier: Tier): StageProtections | null {
  const own = current?.own ?? null;
  return own === null || tier !== 'regulated' ? own : { ...own, protections: withoutOtherModel(own.protections) };
}

function withoutOtherModel(protections: Protections): Protections {
  const { breaker } = protections;
  if (breaker === null || breaker.fallback === null || !('model' in breaker.fallback)) return protections;
  return { ...protections, breaker: { ...breaker, fallback: null } };
}

/** A model that the call falls back to by itself stays. */
function withOtherModel(node: Node, breaker: Protections['breaker']): Node {
  if (node.op !== 'do' || node.effect.kind !== 'model' || node.retry.fallback !== undefined) return node;
  const fallback = breaker?.fallback ?? null;
  if (fallback === null || !('model' in fallback)) return node;
  return { ...node, retry: { ...node.retry, fallback: { targets: [fallback.model], on: UNREACHABLE } } };
}

function addEnds(kit: Kit, builder: Builder): NodeId {
  const partial = builder.end({ state: 'completed', code: 'PARTIAL_SUCCESS', output: OUTPUT });
  const whole = builder.end({ state: 'completed', code: 'SUCCESS', output: OUTPUT });
  return kit.when({ hint: 'end', origin: 'end' }, `${PARTIAL} == true`, partial, whole);
}

type Starting = Omit<Lowering, 'visits'> & {
  /** The task, as an expression. */
  readonly request: string;
};

/** Adds all stages of a flow or of a team, and returns the first node. */
function addStages({ request, ...rest }: Starting): NodeId {
  const l: Lowering = { ...rest, visits: visitsOf(rest.staged) };
  const start = l.builder.fresh(nameOf(l, 'start'));
  addStart(l, start, request);
  addPlan(l, entryOf(l, l.staged.working.id));
  addWork(l, entryOf(l, 'aggregate'));
  addFinish(l);
  return start;
}

function addStart(l: Lowering, id: NodeId, request: string): void {
  l.kit.set(
    { id, origin: nameOf(l, 'start') },
    [
      set(REQUEST, request),
      set(ROUND, '1'),
      recoveryStart,
      ...[TASKS, SUMMARIES, LOST, ROUNDS].map((slot) => set(slot, '[]')),
      ...(l.staged.plan.critic === null ? [] : [set(CRITIQUE, 'null')]),
      ...[PLAN, RESULT, AGGREGATE, VERDICT, OUTPUT, FEEDBACK, LAST_PLAN, VALIDATION, REJECTED, TRIPPED, 'error'].map(
        (slot) => set(slot, 'null'),
      ),
      set(PARTIAL, 'false'),
      ...(l.prefix === '' ? [set(OBSERVATIONS, '[]')] : []),
      ...rollbackStart(l),
    ],
    entryOf(l, 'plan'),
  );
}

/** Adds the stage and returns its first node. The summaries are there at `next`. */
function addWork(l: Lowering, next: NodeId): NodeId {
  const { work } = l.staged;
  switch (work.is) {
    case 'workers':
      return addWorkers(l, work, next);
    case 'teams':
      return addTeams(l, work, addStages, next);
    case 'peers':
      return addPeers(l, work, next);
    case 'debate':
      return addDebate(l, work, next);
    case 'sop':
      return addProcedure(l, work, next);
    case 'board':
      return addBoard(l, work, next);
    case 'swarm':
      return addSwarm(l, work, next);
  }
}
