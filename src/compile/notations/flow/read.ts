/** Reads the body of a graph document: strictly, with every mistake of shape reported, and what is sound kept for the checks. */
import { declareIds } from '../../document/declare.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { ReadDocument } from '../../document/document.ts';
import { childOf, entryMeant, itemsOf, textOf } from '../../source/located.ts';
import type { Located, Path } from '../../source/located.ts';
import type { Range } from '../../source/range.ts';
import type { Json } from '../../../expr/json.ts';
import { readShape } from '../../document/shape/shape.ts';
import type { Shaped } from '../../document/shape/shape.ts';
import { FIELDS, flowSchema } from './schema.ts';
import type { FlowValue, NodeValue } from './schema.ts';

export const END = 'end';

export interface FlowNode {
  readonly id: string;
  readonly value: NodeValue;
  /** Where a field of the node stands. */
  at(...path: Path): Range;
  located(...path: Path): Located | undefined;
  /** Whether something was written there that could not be used: what follows from its absence is no further mistake. */
  spoilt(...path: Path): boolean;
}

export interface Flow {
  readonly value: FlowValue;
  /** By id, in the order of the document; a second node of the same id is left out. */
  readonly nodes: ReadonlyMap<string, FlowNode>;
  /** Every declared id, also of nodes that are faulty otherwise. */
  readonly declared: ReadonlySet<string>;
  /** Whether a node has that id, or may have it: the id of one of them cannot be read. */
  mayHave(id: string): boolean;
  at(...path: Path): Range;
  located(...path: Path): Located | undefined;
  spoilt(...path: Path): boolean;
}

/** What a required field holds that is missing or faulty. That has been reported; nothing else is said of it. */
export const STAND_IN = '\u0000';

export const RESERVED: { readonly [id: string]: string } = {
  [END]: 'a route to `end` ends the path',
  event: '`event` holds what started the run',
  approvals: '`approvals` holds what people chose',
  error: '`error` holds the last failure',
};

export function readFlow(document: ReadDocument, report: Report): Flow | null {
  reportLegacyKeys(document, report);
  const shaped = readShape(flowSchema, document.body, report, { what: 'the flow', standIn });
  const declared = declareIds(childOf(document.body, 'nodes'), report, { what: 'flow node', reserved: RESERVED });
  if (shaped === null) return null;
  const nodes = new Map<string, FlowNode>();
  for (const [index, value] of shaped.value.nodes.entries()) {
    if (nodes.has(value.id)) continue;
    nodes.set(value.id, {
      id: value.id,
      value,
      at: (...path) => shaped.at('nodes', index, ...path),
      located: (...path) => shaped.located('nodes', index, ...path),
      spoilt: (...path) => isSpoilt(shaped, ['nodes', index, ...path]),
    });
  }
  const ids = new Set([...declared.keys(), ...nodes.keys()]);
  const nameless = itemsOf(childOf(document.body, 'nodes')).some(
    (item) => !ids.has(textOf(entryMeant(item, 'id', FIELDS.node)?.value) ?? ''),
  );
  return {
    value: shaped.value,
    nodes,
    declared: ids,
    mayHave: (id) => nameless || ids.has(id),
    at: shaped.at,
    located: shaped.located,
    spoilt: (...path) => isSpoilt(shaped, path),
  };
}

function standIn(path: Path): Json | undefined {
  const [first, , field] = path;
  if (path.length === 1) return first === 'id' || first === 'entry' ? STAND_IN : undefined;
  if (path.length !== 3 || first !== 'nodes') return undefined;
  if (field === 'branches') return [{ to: STAND_IN }, { to: STAND_IN }];
  return field === 'agent' || field === 'tool' || field === 'message' || field === 'expr' ? STAND_IN : undefined;
}

function isSpoilt(shaped: Shaped<FlowValue>, path: Path): boolean {
  const part = path[2];
  const known = path.length === 1 ? FIELDS.flow : path.length === 3 ? FIELDS.node : FIELDS[part as 'routes'];
  const written = entryMeant(shaped.located(...path.slice(0, -1)), String(path.at(-1)), known);
  return written !== undefined && shaped.located(...path) === undefined;
}

/** The older spelling puts the flow under `runtime`, where nothing else of ours lives. */
function reportLegacyKeys(document: ReadDocument, report: Report): void {
  const runtime = childOf(document.doc, 'runtime');
  if (runtime?.kind !== 'map') return;
  for (const { key, keyRange } of runtime.entries.values()) {
    if (key !== 'flow')
      report.error('unknown-key', keyRange, `unknown key \`${key}\` in \`runtime\``, {
        help: 'Only `runtime.flow` is read, as the older place of `flow`.',
      });
  }
}
