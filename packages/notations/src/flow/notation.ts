/** The graph notation: reads a flow, checks it by the page's guarantees and more, and lowers it. */
import { flowExcess } from './excess.ts';
import type { LoweredDocument, Notation } from '@sluice-internal/compile/rules';
import { childOf, textOf } from '@sluice-internal/compile/source';
import type { Report } from '@sluice-internal/compile/source';
import type { Definitions, ReadDocument } from '@sluice-internal/compile/document';
import { adaptDocument } from './adapt.ts';
import { analyse, checkUncalled } from './analyse.ts';
import { lowerGraph } from './lower.ts';
import { flowSchema } from './schema.ts';
import { mergeDefinitions } from './sub-definitions.ts';
import { FLOW_KEYS } from './sub-flows.ts';

export const flowNotation: Notation = {
  ...FLOW_KEYS,
  adapt: adaptDocument,
  schema: flowSchema,
  limits: ['depth'],
  lower: lowerFlow,
};

function lowerFlow(document: ReadDocument, definitions: Definitions, report: Report): LoweredDocument {
  const { file } = report.source;
  const key = file.slice(file.lastIndexOf('/') + 1);
  const name = textOf(childOf(document.body, 'id')) ?? key;
  const standing = { document, definitions, report, folder: '', chain: [{ key, name }] };
  const flow = analyse(standing);
  if (flow === null) return { lowered: null, picture: null };
  checkUncalled(flow, standing);
  const { picture } = flow;
  const merged = mergeDefinitions(flow);
  const known = merged.definitions;
  if (report.failed()) return { lowered: null, picture, known };
  const lowered = lowerGraph(flow, merged);
  return { lowered, picture, known, excess: flowExcess(lowered.body, flow.flow) };
}
