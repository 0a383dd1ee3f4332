/** Reads, checks and prepares a flow, and with it every sub-flow that it names. */
import type { Report } from '../../diagnose/diagnostics.ts';
import type { Definitions } from '../../document/definitions.ts';
import type { ReadDocument } from '../../document/document.ts';
import type { Budgets } from '../../document/schema/bounds.ts';
import type { Picture } from '../../picture/picture.ts';
import { checkFlow } from './check.ts';
import { createExpressions } from './expressions.ts';
import type { Expressions } from './expressions.ts';
import { graphOfFlow } from './graph.ts';
import type { FlowGraph } from './graph.ts';
import { checkGuards } from './guard-check.ts';
import type { Flow, FlowNode } from './model.ts';
import { namesOf, recentAgents } from './names.ts';
import type { NodeType, Prepared, Preparing } from './node-type.ts';
import { withFrames } from '../../picture/frames.ts';
import { drawFlow } from './picture.ts';
import { readFlow } from './read.ts';
import { slotsOf } from './slots.ts';
import type { Slots } from './slots.ts';
import { warnOfTraps } from './traps.ts';
import { findSubFlow } from './sub-flows.ts';
import type { Standing } from './sub-flows.ts';
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
  const slots = slotsOf(flow.nodes.keys(), chain.length === 1 ? '' : `_${chain.length - 1}_`);
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
  });
  checkFlow(flow, graph, document, report);
  const prepared = prepare({ flow, expressions, slots, definitions, report });
  checkGuards({ flow, graph, definitions, expressions, report });
  warnOfTraps(flow, graph, report);
  const subs = subFlows(flow, standing);
  const drawn = drawFlow(flow, graph, (agent) => definitions.agents[agent]?.tools ?? []);
  const inner = new Map([...subs].map(([id, sub]) => [id, sub.picture]));
  return { flow, graph, slots, expressions, definitions, prepared, picture: withFrames(drawn, inner), subs };
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
  const expects = expressions.reads(node.id, type.expanded(node.value));
  const parts = type.prepare(node, preparing);
  const routes =
    type.routes?.(node, parts, preparing) ?? guardedRoutes(node, 'routes', node.value.routes, expressions, report);
  return { node, expects, parts, routes };
}
