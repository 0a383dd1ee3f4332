/** Events carry ids of the compiled graph. This file finds the names and conditions of the document for them. */
import { authorOf } from '@sluice-internal/kernel/core';
import type { CompiledFlow, Event } from '@sluice-internal/kernel/ir';

export interface Authored {
  /** The node of the document. */
  readonly authored?: string;
  /** The condition that the event is about. */
  readonly condition?: string;
  /** The values that do not exist. */
  readonly missing?: readonly string[];
}

/** The name that the document gives to a node. */
export function nameAt({ nodes }: Pick<CompiledFlow, 'nodes'>, id: string): string {
  const node = nodes[id];
  return node === undefined ? id : authorOf(node);
}

/** For the events of one run. */
export function authoredIn(flow: CompiledFlow): (event: Event) => Authored {
  const names = new Set(Object.values(flow.nodes).flatMap(({ label }) => label.enters ?? []));
  return (event) => authoredOf(flow, names, event);
}

function authoredOf(flow: CompiledFlow, names: ReadonlySet<string>, event: Event): Authored {
  if (!('node' in event) || typeof event.node !== 'string') return {};
  const name = nameAt(flow, event.node);
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
export function conditionAt(flow: CompiledFlow, id: string, index: number): string | null {
  const written = /^!?(?:guard|strict)\((.*)\)$/s.exec(whenAt(flow, id, index) ?? '')?.[1];
  if (written === undefined) return null;
  const shown = written
    .replaceAll(INPUT_FIELDS, 'input')
    .replaceAll(/\b_[a-z]+\./g, '')
    .replaceAll(/ \(([A-Za-z_][\w.]*)\) /g, ' $1 ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  // The slots of the engine itself have no names in the document.
  return /(?<![\w.])_[a-z]/.test(shown) ? null : shown;
}

/** The compiler reads the fields of an input that is text in this way. */
const INPUT_FIELDS = '(type(input) == map ? input : jsonIn(text(input)))';

/** Some guards are evaluated twice, the second time negated. The second failure then repeats the first. */
export function isRepeated(
  flow: CompiledFlow,
  { node, index }: { readonly node: string; readonly index: number },
): boolean {
  const when = whenAt(flow, node, index);
  return when !== undefined && when.startsWith('!') && whenAt(flow, node, index - 1) === when.slice(1);
}

function whenAt(flow: CompiledFlow, id: string, index: number): string | undefined {
  const node = flow.nodes[id];
  if (node?.op === 'pick') return node.cases[index]?.when;
  return node?.op === 'fork' && 'heads' in node.over ? node.over.heads[index]?.when : undefined;
}

/** A slot whose name begins with an underscore belongs to the engine: the author wrote only the fields. */
export function shownPath(path: readonly string[]): string {
  return (path[0]?.startsWith('_') === true ? path.slice(1) : path).join('.');
}
