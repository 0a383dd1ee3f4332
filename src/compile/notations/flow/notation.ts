/** The graph notation: reads a flow, checks it by the page's guarantees and more, and lowers it. */
import { flowExcess } from '../../advise/excess.ts';
import type { LoweredDocument, Notation } from '../notation.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { Definitions } from '../../document/definitions.ts';
import type { ReadDocument } from '../../document/document.ts';
import { checkFlow } from './check.ts';
import { createExpressions } from './expressions.ts';
import { graphOfFlow } from './graph.ts';
import { checkGuards } from './guard-check.ts';
import { lowerGraph } from './lower.ts';
import { namesOf } from './names.ts';
import { drawFlow } from './picture.ts';
import { prepare } from './prepare.ts';
import { readFlow } from './read.ts';
import { recentAgents } from './names.ts';
import { flowSchema } from './schema.ts';
import { slotsOf } from './slots.ts';

export const flowNotation: Notation = {
  name: 'flow',
  key: 'flow',
  olderPlace: 'runtime',
  schema: flowSchema,
  excess: flowExcess,
  lower: lowerFlow,
};

function lowerFlow(document: ReadDocument, definitions: Definitions, report: Report): LoweredDocument {
  const flow = readFlow(document, report);
  if (flow === null) return { lowered: null, picture: null };
  const graph = graphOfFlow(flow);
  const slots = slotsOf(flow.nodes.keys());
  const names = namesOf(flow, graph, slots, definitions);
  const expressions = createExpressions({ names, graph, recents: recentAgents(flow, graph), slots, report });
  checkFlow(flow, graph, document, report);
  const prepared = prepare({ flow, expressions, slots, definitions, report });
  checkGuards(flow, graph, definitions, report);
  const picture = drawFlow(flow, graph);
  if (report.failed()) return { lowered: null, picture };
  return { lowered: lowerGraph({ flow, graph, slots, expressions, definitions }, prepared), picture };
}
