/** Reads the body of a graph document: strictly, with every mistake of shape reported, and what is sound kept for the checks. */
import { declareIds, namesOf } from '../../document/names.ts';
import type { Names } from '../../document/names.ts';
import { POISON } from '../../document/shape/poison.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { ReadDocument } from '../../document/document.ts';
import { childOf, entryMeant, itemsOf, textOf } from '../../source/located.ts';
import type { Located, Path } from '../../source/located.ts';
import type { Range } from '../../source/range.ts';
import type { Json } from '../../../expr/json.ts';
import { readShape } from '../../document/shape/shape.ts';
import { FIELDS, flowSchema } from './schema.ts';
import type { FlowValue, NodeValue } from './schema.ts';

export const END = 'end';

export interface FlowNode {
  readonly id: string;
  readonly value: NodeValue;
  /** Where a field of the node stands. */
  at(...path: Path): Range;
  located(...path: Path): Located | undefined;
  /** True where something was written that could not be read. */
  poisoned(...path: Path): boolean;
}

export interface Flow {
  readonly value: FlowValue;
  /** By id, in the order of the document; a second node of the same id is left out. */
  readonly nodes: ReadonlyMap<string, FlowNode>;
  /** Every declared id, also of nodes that are faulty otherwise. */
  readonly declared: Names;
  at(...path: Path): Range;
  located(...path: Path): Located | undefined;
  poisoned(...path: Path): boolean;
}

export const RESERVED: { readonly [id: string]: string } = {
  [END]: 'a route to `end` ends the path',
  event: '`event` holds what started the run',
  approvals: '`approvals` holds what people chose',
  error: '`error` holds the last failure',
};

export function readFlow(document: ReadDocument, report: Report): Flow | null {
  reportLegacyKeys(document, report);
  const shaped = readShape(flowSchema, document.body, report, { what: 'the flow', poison });
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
      poisoned: (...path) => shaped.poisoned('nodes', index, ...path),
    });
  }
  const ids = new Set([...declared.all, ...nodes.keys()]);
  const nameless = itemsOf(childOf(document.body, 'nodes')).some(
    (item) => !ids.has(textOf(entryMeant(item, 'id', FIELDS.node)?.value) ?? ''),
  );
  return {
    value: shaped.value,
    nodes,
    declared: namesOf(ids, nameless),
    at: shaped.at,
    located: shaped.located,
    poisoned: shaped.poisoned,
  };
}

function poison(path: Path): Json | undefined {
  const [first, , field] = path;
  if (path.length === 1) return first === 'id' || first === 'entry' ? POISON : undefined;
  if (path.length !== 3 || first !== 'nodes') return undefined;
  if (field === 'branches') return [{ to: POISON }, { to: POISON }];
  return field === 'agent' || field === 'tool' || field === 'message' || field === 'expr' ? POISON : undefined;
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
