/**
 * The deadlock monitor of a flow: a meter that compares the turns of agents on a common cycle. It acts only if the document
 * declares it. If not, a suspicion is recorded as an event and as a decision of the report.
 */
import { decisionOf } from '@sluice-internal/kernel/catalog';
import type { DoNode, Meter, MeterId, Node, NodeId } from '@sluice-internal/kernel/ir';
import type { Protections } from '../document/protections.ts';
import { quote } from '@sluice-internal/kernel/expr';
import { componentsOf } from '../graph/components.ts';
import { edgesOf } from '../graph/graph.ts';
import type { Kit } from './kit.ts';
import { addQuestion } from './protected-call.ts';

interface Draft {
  readonly nodes: Map<NodeId, Node>;
  readonly meters: ReadonlyMap<MeterId, Meter>;
  readonly fail: NodeId;
  readonly kit: Kit;
}

/** Adds the monitor to every model call on a cycle that several agents are on. Returns false if the flow has no such call. */
export function addDeadlockMonitor(draft: Draft, protections: Protections): boolean {
  const rules = rulesOf(protections);
  const watched = rules === null ? [] : turnsInCycles(draft);
  if (rules === null || watched.length === 0) return false;
  const { nodes, kit, fail } = draft;
  const meters = addMeters(kit, rules, fail);
  for (const [id, node] of watched) {
    const onStuck = rules.acts ? { onStuck: addAction(kit, id, node, { asks: rules.asks, fail }) } : {};
    nodes.set(id, { ...node, charges: [...(node.charges ?? []), ...meters], ...onStuck });
  }
  return true;
}

/** Hops have a separate meter: a recorded suspicion restarts the comparison of replies, but not the chain of handoffs. */
function addMeters(kit: Kit, { cycle, hops, records }: Rules, over: NodeId): readonly MeterId[] {
  const ids: MeterId[] = [];
  const add = (id: MeterId, rule: Partial<Meter>): void => {
    kit.builder.meter(id, { unit: 'turns', max: 1, ...rule, over, label: `protections.${id}` });
    ids.push(id);
  };
  if (cycle !== undefined) add('deadlock', { cycle, ...(records ? { records } : {}) });
  if (hops !== undefined) add('hops', { hops });
  return ids;
}

interface Rules {
  /** Absent if the deadlock monitor is off. */
  readonly cycle: number | undefined;
  readonly hops: number | undefined;
  /** True if repeated turns are only recorded. */
  readonly records: boolean;
  /** False if trips are only recorded. */
  readonly acts: boolean;
  /** True if a trip asks a person. */
  readonly asks: boolean;
}

/** Null if there is nothing to watch. Hops count only if the document declares them. */
function rulesOf({ deadlock, hops: limit }: Protections): Rules | null {
  const hops = limit?.acts === true ? limit.max : undefined;
  if (deadlock === null && hops === undefined) return null;
  const { cycle, onTrip } = deadlock ?? { cycle: undefined, onTrip: 'record' };
  const records = onTrip === 'record';
  const acts = hops !== undefined || !records;
  return { cycle, hops, records, acts, asks: acts && onTrip !== 'end' };
}

interface Acting {
  readonly asks: boolean;
  readonly fail: NodeId;
}

/** Asks a person about the call that is not made, or stops the run. */
function addAction(kit: Kit, id: NodeId, node: DoNode, { asks, fail }: Acting): NodeId {
  const name = node.label.authored ?? node.label.name;
  const stop = addStop(kit, name, fail);
  if (!asks) return stop;
  return addQuestion(id, node, kit, {
    about: 'deadlock',
    row: 'low_confidence',
    decision: decisionOf('deadlock', 'escalate'),
    message: quote(`${name}: ${PROBLEM}`),
    choices: ['continue', 'stop'],
    stop,
  });
}

const PROBLEM = 'the agents repeat themselves without a new fact, or hand the task on too often';

function addStop(kit: Kit, node: string, fail: NodeId): NodeId {
  return kit.fail(
    { hint: 'deadlock.stopped', origin: 'deadlock', decision: decisionOf('deadlock', 'abort') },
    { type: 'DeadlockError', message: quote(PROBLEM), node },
    fail,
  );
}

function turnsInCycles({ nodes, meters, fail }: Draft): readonly (readonly [NodeId, DoNode])[] {
  const limits = Object.fromEntries(meters);
  const targets = new Map(
    [...nodes].map(([id, node]) => [
      id,
      edgesOf(node, limits, fail)
        .map(({ to }) => to)
        .filter((to) => nodes.has(to)),
    ]),
  );
  return componentsOf(nodes.keys(), (id) => targets.get(id) ?? []).flatMap(({ members, cyclic }) => {
    const calls = members.flatMap((id): [NodeId, DoNode][] => {
      const node = nodes.get(id);
      // A verifier judges a turn and takes none.
      const isTurn = node?.op === 'do' && node.effect.kind === 'model' && node.effect.input['verdict'] === undefined;
      return isTurn ? [[id, node]] : [];
    });
    const agents = new Set(calls.map(([, { effect }]) => (effect.kind === 'model' ? effect.agent : '')));
    return cyclic && agents.size > 1 ? calls : [];
  });
}
