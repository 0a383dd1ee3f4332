/** Lowers a parallel node: branches run to their own ends, and the join goes on with an object from branch head to output. */
import type { ForkNode, NodeId, Write } from '../../../../ir/nodes.ts';
import { OBSERVATIONS } from '../../../lower/agent-turn/turn.ts';
import { path, quote } from '../../../expressions/cel-text.ts';
import { branchNames } from '../edge.ts';
import { entered, evaluated } from './errors.ts';
import type { Lowering } from './lowering.ts';
import type { Prepared } from '../prepare.ts';
import { JOIN_TIMEOUT_SECONDS } from '../schema.ts';
import type { NodeOf } from '../schema.ts';
import { SLOT } from '../slots.ts';

export function lowerParallel(lowering: Lowering, prepared: Prepared, value: NodeOf<'parallel'>): void {
  const { builder } = lowering;
  const { id, join } = value;
  const names = branchNames(prepared.branches);
  const type = join?.type ?? 'all';
  const need = type === 'all' ? 'all' : type === 'count' ? (join?.count ?? 1) : 1;
  const guarded = prepared.branches.some(({ when }) => when !== null);
  const fork = (at: NodeId, enters: boolean): NodeId =>
    builder.add(
      at,
      {
        op: 'fork',
        ...(enters ? entered(lowering, prepared) : { label: { name: id } }),
        over: {
          heads: prepared.branches.map(({ to, when }, index) => ({
            name: names[index] ?? to,
            to: builder.idOf(to),
            ...(when === null ? {} : { when }),
          })),
        },
        widthMax: 0,
        need,
        eager: type === 'count',
        timeoutMs: Math.ceil((join?.timeout ?? JOIN_TIMEOUT_SECONDS) * 1000),
        into: SLOT.join,
        gather: gathered(lowering, id),
        next: afterJoin(lowering, prepared, names, need === 'all' && !guarded),
        ...lowering.errors(prepared),
      },
      prepared.node.at('id'),
    );
  if (guarded)
    evaluated(
      lowering,
      prepared,
      prepared.branches.flatMap(({ when }) => when ?? []),
      fork,
    );
  else fork(builder.idOf(id), true);
}

/** What somebody reads later comes back from the branches: of a node that ran in several, the first branch's. */
function gathered({ builder, graph, flow, slots, expressions, charges }: Lowering, id: string): ForkNode['gather'] {
  const { uses } = expressions;
  const members = [...(graph.inBranches.get(id) ?? [])];
  const read = members.map((member) => slots.of(member)).filter((slot) => uses.slots.has(slot));
  const asks = members.some((member) => flow.nodes.get(member)?.value.type === 'approval');
  const acts = members.some((member) => {
    const value = flow.nodes.get(member)?.value;
    return value?.type === 'agent' && (builder.definitions.agents[value.agent]?.tools.length ?? 0) > 0;
  });
  return [
    ...read.map((slot) => ({ slot, mode: 'first' as const })),
    // What was seen in a branch has been seen: whoever comes later must not be taken for unsuspecting.
    ...(acts ? [{ slot: OBSERVATIONS, mode: 'concat' as const }] : []),
    ...(asks ? [{ slot: 'approvals', mode: 'merge' as const }] : []),
    ...(uses.bare ? [{ slot: SLOT.agent, mode: 'last' as const }] : []),
    { slot: SLOT.partial, mode: 'any' },
    ...(charges.length > 0 ? [{ slot: SLOT.capped, mode: 'any' as const }] : []),
  ];
}

/** Where every branch has surely run to its end, one write after the other by position; otherwise each is looked for. */
function afterJoin(lowering: Lowering, prepared: Prepared, names: readonly string[], all: boolean): NodeId {
  const { builder, slots } = lowering;
  const { id } = prepared.node;
  const slot = slots.of(id);
  const finish: readonly Write[] = lowering.out(path(slot, 'output'), 'set');
  const done =
    finish.length === 0
      ? lowering.routes(prepared)
      : builder.add(builder.fresh(`${id} joined`), {
          op: 'let',
          label: { name: id },
          writes: finish,
          next: lowering.routes(prepared),
        });
  if (all) {
    const writes = names.map((name, index): Write => ({
      slot,
      path: ['output', name],
      mode: 'set',
      value: `${SLOT.join}["${index}"].output`,
    }));
    return builder.add(builder.fresh(`${id} outputs`), { op: 'let', label: { name: id }, writes, next: done });
  }
  let next = done;
  for (const name of names.toReversed()) {
    const branch = `${SLOT.join}.filter(b, b.name == ${quote(name)})[0]`;
    const take = builder.add(builder.fresh(`${id} output`), {
      op: 'let',
      label: { name: id },
      writes: [{ slot, path: ['output', name], mode: 'set', value: `${branch}.output` }],
      next,
    });
    next = builder.add(builder.fresh(`${id} branch`), {
      op: 'pick',
      label: { name: id },
      cases: [{ when: `${branch}.state == "completed"`, to: take }],
      otherwise: next,
    });
  }
  const writes: readonly Write[] = [
    { slot, path: ['output'], mode: 'set', value: '{}' },
    {
      slot: SLOT.partial,
      mode: 'set',
      value: `${SLOT.partial} == true || ${SLOT.join}.exists(b, b.state == "failed")`,
    },
  ];
  return builder.add(builder.fresh(`${id} lost`), { op: 'let', label: { name: id }, writes, next });
}
