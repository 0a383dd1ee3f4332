/** The graph notation: reads a flow, checks it by the page's guarantees and more, and lowers it. */
import type { Dialect } from '../dialect.ts';
import { checkFlow } from './flow-check.ts';
import { createExpressions } from './flow-expressions.ts';
import { graphOfFlow } from './flow-graph.ts';
import { lowerGraph } from './flow-lower.ts';
import { namesOf } from './flow-names.ts';
import { drawFlow } from './flow-picture.ts';
import { prepare } from './flow-prepare.ts';
import { readFlow } from './flow-read.ts';
import { recentAgents } from './flow-recent.ts';
import { slotsOf } from './flow-slots.ts';
import { checkTools } from './flow-tools.ts';
import { readWays } from './flow-ways.ts';

export const lowerFlow: Dialect = (document, definitions, report) => {
  const flow = readFlow(document, report);
  if (flow === null) return { lowered: null, picture: null };
  const graph = graphOfFlow(flow);
  const slots = slotsOf(flow.nodes.keys());
  const names = namesOf(flow, slots, definitions);
  const expressions = createExpressions({ names, graph, recents: recentAgents(flow, graph), slots, report });
  checkFlow(flow, readWays(document.body), document, report);
  checkTools(flow, document, report);
  const prepared = prepare(flow, expressions, slots, definitions, report);
  const picture = drawFlow(flow, graph);
  if (report.failed()) return { lowered: null, picture };
  return { lowered: lowerGraph({ flow, graph, slots, expressions, definitions }, prepared), picture };
};
