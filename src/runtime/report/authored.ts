/** What the author of a document wrote, for events that carry ids of the compiled graph and names of the engine. */
import { authorOf } from '../../core/failure.ts';
import type { Event } from '../../ir/events.ts';
import type { CompiledFlow } from '../../ir/nodes.ts';

export interface Authored {
  /** The node of the document. */
  readonly authored?: string;
  /** The condition that the event is about. */
  readonly condition?: string;
  /** The values that do not exist. */
  readonly missing?: readonly string[];
}

/** For the events of one run. */
export function authoredIn(flow: CompiledFlow): (event: Event) => Authored {
  const names = new Set(Object.values(flow.nodes).flatMap(({ label }) => label.enters ?? []));
  return (event) => authoredOf(flow, names, event);
}

function authoredOf(flow: CompiledFlow, names: ReadonlySet<string>, event: Event): Authored {
  if (!('node' in event) || typeof event.node !== 'string') return {};
  const node = flow.nodes[event.node];
  const name = node === undefined ? event.node : authorOf(node);
  const condition =
    event.type === 'guard.failed' || event.type === 'guard.coerced' ? conditionAt(flow, event.node, event.index) : null;
  return {
    ...(name !== event.node && names.has(name) ? { authored: name } : {}),
    ...(condition === null ? {} : { condition }),
    ...(event.type === 'value.missing' ? { missing: event.paths.map(shownPath) } : {}),
  };
}

export function conditionText(
  flow: CompiledFlow,
  { node, index }: { readonly node: string; readonly index: number },
): string {
  const written = conditionAt(flow, node, index);
  return written === null ? 'a condition' : `the condition \`${written}\``;
}

/** Null if the author wrote no condition there. */
function conditionAt(flow: CompiledFlow, id: string, index: number): string | null {
  const node = flow.nodes[id];
  const when =
    node?.op === 'pick'
      ? node.cases[index]?.when
      : node?.op === 'fork' && 'heads' in node.over
        ? node.over.heads[index]?.when
        : undefined;
  const written = /^guard\((.*)\)$/s.exec(when ?? '')?.[1];
  if (written === undefined) return null;
  return written
    .replaceAll(/\b_[a-z]+\./g, '')
    .replaceAll(/ \(([A-Za-z_][\w.]*)\) /g, ' $1 ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** A slot whose name begins with an underscore belongs to the engine: the author wrote only the fields. */
export function shownPath(path: readonly string[]): string {
  return (path[0]?.startsWith('_') === true ? path.slice(1) : path).join('.');
}
