/** Reads the body of a graph document. Reports every mistake of shape, and keeps the sound parts for the checks. */
import { POISON, declareIds, namesOf, readShape } from '@sluice-internal/compile/document';
import type { ReadDocument } from '@sluice-internal/compile/document';
import { childOf, entryMeant, itemsOf, textOf } from '@sluice-internal/compile/source';
import type { Path, Report } from '@sluice-internal/compile/source';
import type { Json } from '@sluice-internal/kernel/expr';
import { edgesOf } from './edges.ts';
import { RESERVED, type CommonValue, type Flow, type FlowNode } from './model.ts';
import { NODE_TYPES, nodeTypeOf } from './nodes/registry.ts';
import { FIELDS, flowSchema } from './schema.ts';

export function readFlow(document: ReadDocument, report: Report): Flow | null {
  const shaped = readShape(flowSchema, document.body, report, { what: 'the flow', poison });
  const declared = declareIds(childOf(document.body, 'nodes'), report, { what: 'flow node', reserved: RESERVED });
  if (shaped === null) return null;
  const nodes = new Map<string, FlowNode>();
  for (const [index, value] of (shaped.value.nodes as readonly CommonValue[]).entries()) {
    if (nodes.has(value.id)) continue;
    nodes.set(value.id, {
      id: value.id,
      value,
      facts: nodeTypeOf(value.type),
      edges: edgesOf(shaped.located('nodes', index), value.id).edges,
      ...shaped.under('nodes', index),
    });
  }
  const ids = new Set([...declared.all, ...nodes.keys()]);
  const nameless = itemsOf(childOf(document.body, 'nodes')).some(
    (item) => !ids.has(textOf(entryMeant(item, 'id', FIELDS.node)?.value) ?? ''),
  );
  return { ...shaped, nodes, declared: namesOf(ids, nameless) };
}

/** Required fields of any node type. Two types never need different stand-ins for a field of the same name. */
const STAND_INS: { readonly [field: string]: Json } = Object.assign({}, ...NODE_TYPES.map(({ poison: own }) => own));

function poison(path: Path): Json | undefined {
  const [first, , field] = path;
  if (path.length === 1) return first === 'id' || first === 'entry' ? POISON : undefined;
  if (path.length !== 3 || first !== 'nodes') return undefined;
  return Object.hasOwn(STAND_INS, String(field)) ? STAND_INS[String(field)] : undefined;
}
