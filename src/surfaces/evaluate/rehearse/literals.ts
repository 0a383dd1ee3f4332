/**
 * The values that the expressions of a flow compare with. Generated replies and results use them, so that routes, signals and
 * terminations are met by chance.
 */
import type { CompiledFlow, Node } from '../../../ir/nodes.ts';
import type { Json } from '../../../expr/json.ts';

export interface Literals {
  /** Values by the last name of the path that they are compared with. */
  readonly fields: ReadonlyMap<string, readonly Json[]>;
  /** Texts of conditions, which a reply may have to contain. */
  readonly texts: readonly string[];
  /** Names read from the input of the run. */
  readonly inputs: readonly string[];
}

export function literalsIn(flow: CompiledFlow): Literals {
  const fields = new Map<string, Set<Json>>();
  const texts = new Set<string>();
  const inputs = new Set<string>();
  for (const source of Object.values<Node>(flow.nodes).flatMap(expressionsOf)) {
    for (const [name, values] of comparedIn(source)) {
      const known = fields.get(name) ?? new Set();
      for (const value of values) known.add(value);
      fields.set(name, known);
    }
    for (const [, name = ''] of source.matchAll(/\bevent\.payload\.(\w+)/g)) inputs.add(name);
  }
  for (const node of Object.values<Node>(flow.nodes))
    if (node.op === 'pick') for (const { when } of node.cases) for (const text of textsIn(when)) texts.add(text);
  return {
    fields: new Map([...fields].map(([name, values]) => [name, [...values]])),
    texts: [...texts],
    inputs: [...inputs],
  };
}

function expressionsOf(node: Node): readonly string[] {
  const written = (value: string | { readonly [field: string]: string }): readonly string[] =>
    typeof value === 'string' ? [value] : Object.values(value);
  switch (node.op) {
    case 'pick':
      return node.cases.map(({ when }) => when);
    case 'let':
      return node.writes.flatMap(({ value }) => written(value));
    case 'do':
      return [
        ...node.failed.map(({ when }) => when),
        ...Object.values(node.effect.input),
        ...(node.accept === undefined ? [] : [node.accept]),
      ];
    default:
      return [];
  }
}

const COMPARED = /([\w.]+)\s*(?:==|!=|<=|>=|<|>)\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?\d+(?:\.\d+)?|true|false)/g;
const LISTED = /([\w.]+)\s+in\s+\[([^\]]*)\]/g;
const TEXT = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g;

function* comparedIn(source: string): Iterable<readonly [string, readonly Json[]]> {
  for (const [, path = '', text = ''] of source.matchAll(COMPARED)) {
    const value = valueOf(text);
    yield [lastOf(path), typeof value === 'number' ? [value - 1, value, value + 1] : [value]];
  }
  for (const [, path = '', list = ''] of source.matchAll(LISTED))
    yield [lastOf(path), list.split(',').map((each) => valueOf(each.trim()))];
}

/** The texts of a condition: keywords, signals and marks that a reply may have to contain. */
function* textsIn(source: string): Iterable<string> {
  for (const [text] of source.matchAll(TEXT)) {
    const value = String(valueOf(text));
    if (value.trim().length >= 2) yield value;
  }
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

function valueOf(text: string): Json {
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^-?\d/.test(text)) return Number(text);
  try {
    return JSON.parse(text.startsWith("'") ? `"${text.slice(1, -1).replaceAll('"', '\\"')}"` : text) as Json;
  } catch {
    return text.slice(1, -1);
  }
}
