/** Reads, checks and prepares a flow, and with it every sub-flow that it names. */
import { childOf, nearest } from '@sluice-internal/compile/source';
import type { Report } from '@sluice-internal/compile/source';
import { isPoison } from '@sluice-internal/compile/document';
import type { Budgets, Definitions, ReadDocument } from '@sluice-internal/compile/document';
import { withFrames } from '@sluice-internal/compile/picture';
import type { Picture } from '@sluice-internal/compile/picture';
import { checkFlow } from './check.ts';
import { createExpressions, type Expressions } from './expressions.ts';
import { graphOfFlow, type FlowGraph } from './graph.ts';
import type { Flow, FlowNode } from './model.ts';
import { namesOf, recentAgents } from './names.ts';
import type { NodeType, Prepared, Preparing } from './node-type.ts';
import { drawFlow } from './picture.ts';
import { readFlow } from './read.ts';
import { slotsOf, type Slots } from './slots.ts';
import { checkGuards, warnOfTraps } from './traps.ts';
import { findSubFlow, type Standing } from './sub-flows.ts';
import { nodeTypeOf } from './nodes/registry.ts';
import { guardedRoutes } from './routes.ts';

export interface Analysed {
  readonly flow: Flow;
  readonly graph: FlowGraph;
  readonly slots: Slots;
  readonly expressions: Expressions;
  readonly definitions: Definitions;
  readonly prepared: ReadonlyMap<string, Prepared>;
  readonly picture: Picture;
  /** The sub-flows by the node that calls them. */
  readonly subs: ReadonlyMap<string, SubFlow>;
}

export interface SubFlow extends Analysed {
  /** The budgets that the sub-flow's own document sets. */
  readonly budgets: Budgets | undefined;
  /** True if it stands in another file, so that its places mean nothing in this one. */
  readonly foreign: boolean;
  readonly document: ReadDocument;
  readonly report: Report;
}

export function analyse(standing: Standing): Analysed | null {
  const { document, definitions, report, chain } = standing;
  const flow = readFlow(document, report);
  if (flow === null) return null;
  const graph = graphOfFlow(flow);
  const slots = slotsOf(flow.declared.all, chain.length === 1 ? '' : `_${chain.length - 1}_`);
  const names = namesOf(flow, graph, slots, definitions);
  const expressions = createExpressions({
    names,
    graph,
    recents: recentAgents(flow, graph),
    slots,
    report,
    agents: new Map(
      [...flow.nodes].flatMap(([id, { value, facts }]) => {
        const agent = facts.lastAgent?.(value) ?? null;
        return agent === null ? [] : [[id, agent] as const];
      }),
    ),
    words: new Set([...flow.nodes.values()].filter(({ value }) => nodeTypeOf(value.type).words).map(({ id }) => id)),
  });
  checkFlow(flow, graph, document, report);
  const prepared = prepare({ flow, expressions, slots, definitions, report });
  checkGuards({ flow, graph, definitions, expressions, report });
  const subs = subFlows(flow, standing);
  warnOfTraps({ flow, definitions, subs }, graph, report);
  const drawn = drawFlow(flow, graph, (agent) => definitions.agents[agent]?.tools ?? []);
  const inner = new Map([...subs].map(([id, sub]) => [id, sub.picture]));
  return { flow, graph, slots, expressions, definitions, prepared, picture: withFrames(drawn, inner), subs };
}

/** Checks the flows of `flows:` that no node runs, so that their mistakes are found too. */
export function checkUncalled(main: Analysed, standing: Standing): void {
  const { document, report, chain } = standing;
  const flows = childOf(document.doc, 'flows');
  if (flows?.kind !== 'map') return;
  const called = calledFrom(main);
  // A name that could not be read may mean any flow, and a misspelt one means the nearest.
  if (called.some(isPoison)) return;
  const meant = new Set(called.map((name) => (flows.entries.has(name) ? name : nearest(name, flows.entries.keys()))));
  for (const { key, keyRange, value } of flows.entries.values()) {
    if (meant.has(key)) continue;
    report.warning('no-effect', keyRange, `no node runs the flow \`${key}\``, {
      help: 'Run it with a node of type `flow`, or remove it.',
    });
    const below = [...chain, { key: `${chain[0]?.key ?? ''}#${key}`, name: key }];
    analyse({ ...standing, document: { ...document, body: value, bare: false }, chain: below });
  }
}

/** The names of flows that nodes of this document run. */
function calledFrom({ flow, subs }: Analysed): readonly string[] {
  const own = [...flow.nodes.values()].flatMap(({ value, facts }) => facts.subFlow?.(value) ?? []);
  return [...own, ...[...subs.values()].flatMap((sub) => (sub.foreign ? [] : calledFrom(sub)))];
}

function subFlows(flow: Flow, standing: Standing): ReadonlyMap<string, SubFlow> {
  const subs = new Map<string, SubFlow>();
  for (const node of flow.nodes.values()) {
    const name = node.facts.subFlow?.(node.value);
    const found = name === undefined ? null : findSubFlow(node, name, standing);
    const analysed = found === null ? null : analyse(found);
    if (found === null || analysed === null) continue;
    const foreign = found.report !== standing.report;
    const { document, report } = found;
    const budgets = foreign ? found.definitions.budgets : undefined;
    subs.set(node.id, { ...analysed, foreign, budgets, document, report });
  }
  return subs;
}

/** Checks and rewrites every expression once. Problems are reported here; lowering only uses the results. */
function prepare(preparing: Preparing): ReadonlyMap<string, Prepared> {
  const nodes = [...preparing.flow.nodes.values()];
  return new Map(nodes.map((node) => [node.id, prepareNode(node, nodeTypeOf(node.value.type), preparing)]));
}

function prepareNode(node: FlowNode, type: NodeType, preparing: Preparing): Prepared {
  const { expressions, report } = preparing;
  const expects = expressions.reads(node.id, type.expanded?.(node.value) ?? null);
  const parts = type.prepare(node, preparing);
  const routes =
    type.routes?.(node, parts, preparing) ?? guardedRoutes(node, 'routes', node.value.routes, expressions, report);
  return { node, expects, parts, routes };
}
