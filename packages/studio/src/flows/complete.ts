/** Completion of YAML from a JSON Schema: the path of a line follows from its indentation, and the schema is walked along it. */

export interface Option {
  readonly label: string;
  readonly info: string | null;
  readonly isKey: boolean;
}

interface Completions {
  /** The part of the word that is there. */
  readonly typed: string;
  readonly options: readonly Option[];
}

interface Schema {
  readonly [keyword: string]: unknown;
}

/** `line` counts from 1, `column` from 0. Null where nothing can be completed. */
export function completionsAt(root: unknown, text: string, line: number, column: number): Completions | null {
  if (!isObject(root)) return null;
  const lines = text.split('\n');
  const before = (lines[line - 1] ?? '').slice(0, column);
  const value = /^[\s-]*([\w.$]+):\s+(\S*)$/.exec(before);
  const path = pathAt(lines, line - 1);
  if (value !== null) {
    const options = valuesIn(root, schemasAt(root, [...path, value[1] ?? '']));
    return options.length === 0 ? null : { typed: value[2] ?? '', options };
  }
  const key = /^[\s-]*([\w$]*)$/.exec(before);
  if (key === null) return null;
  const there = new Set(siblingsOf(lines, line - 1));
  const options = keysIn(root, schemasAt(root, path)).filter(({ label }) => !there.has(label));
  return options.length === 0 ? null : { typed: key[1] ?? '', options };
}

const KEY = /^(\s*(?:- )*)([\w.$]+):/;

function indentOf(line: string): number {
  return /^\s*(?:- )*/.exec(line)?.[0].length ?? 0;
}

/** The keys above a line, the outermost first; `*` stands for an item of a list. */
function pathAt(lines: readonly string[], at: number): readonly string[] {
  const path: string[] = [];
  let indent = indentOf(lines[at] ?? '');
  if (/^\s*- /.test(lines[at] ?? '')) path.unshift('*');
  for (let index = at - 1; index >= 0 && indent > 0; index--) {
    const line = lines[index] ?? '';
    if (line.trim() === '' || line.trim().startsWith('#')) continue;
    const own = indentOf(line);
    if (own >= indent) {
      if (own === indent && /^\s*- /.test(line) && path[0] !== '*') path.unshift('*');
      continue;
    }
    const key = KEY.exec(line)?.[2];
    indent = own;
    if (key !== undefined) path.unshift(key);
    if (/^\s*- /.test(line)) path.unshift('*');
  }
  return path;
}

/** The keys of the same object, above and below a line. */
function siblingsOf(lines: readonly string[], at: number): readonly string[] {
  const indent = indentOf(lines[at] ?? '');
  const found: string[] = [];
  for (const step of [-1, 1])
    for (let index = at + step; index >= 0 && index < lines.length; index += step) {
      const line = lines[index] ?? '';
      if (line.trim() === '') continue;
      const own = indentOf(line);
      if (own < indent) break;
      const [, start = '', key] = KEY.exec(line) ?? [];
      if (step === 1 && own === indent && start.includes('-')) break;
      if (own === indent && key !== undefined) found.push(key);
      if (step === -1 && own === indent && start.includes('-')) break;
    }
  return found;
}

function schemasAt(root: Schema, path: readonly string[]): readonly Schema[] {
  return path.reduce<readonly Schema[]>(
    (schemas, step) => schemas.flatMap((schema) => alternatives(root, schema)).flatMap((schema) => below(schema, step)),
    [root],
  );
}

function below(schema: Schema, step: string): readonly Schema[] {
  if (step === '*') return isObject(schema['items']) ? [schema['items']] : [];
  const { properties, additionalProperties } = schema;
  if (isObject(properties) && isObject(properties[step])) return [properties[step]];
  return isObject(additionalProperties) ? [additionalProperties] : [];
}

const DEPTH = 8;

/** The schema with what it refers to and the parts that it is made of. */
function alternatives(root: Schema, schema: Schema, depth = 0): readonly Schema[] {
  if (depth > DEPTH) return [];
  const { $ref: reference } = schema;
  const referred = typeof reference === 'string' ? resolved(root, reference) : null;
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((name) =>
    Array.isArray(schema[name]) ? (schema[name] as unknown[]) : [],
  );
  const all = [...(referred === null ? [] : [referred]), ...parts.filter(isObject)];
  return [schema, ...all.flatMap((each) => alternatives(root, each, depth + 1))];
}

function resolved(root: Schema, reference: string): Schema | null {
  const found = reference
    .replace(/^#\/?/, '')
    .split('/')
    .filter((each) => each !== '')
    .reduce<unknown>((at, step) => (isObject(at) ? at[step.replaceAll('~1', '/').replaceAll('~0', '~')] : null), root);
  return isObject(found) ? found : null;
}

function keysIn(root: Schema, schemas: readonly Schema[]): readonly Option[] {
  const found = new Map<string, Option>();
  for (const schema of schemas.flatMap((each) => alternatives(root, each)))
    for (const [label, part] of Object.entries(isObject(schema['properties']) ? schema['properties'] : {}))
      if (!found.has(label)) found.set(label, { label, info: aboutOf(part), isKey: true });
  return [...found.values()];
}

function valuesIn(root: Schema, schemas: readonly Schema[]): readonly Option[] {
  const found = new Map<string, Option>();
  for (const schema of schemas.flatMap((each) => alternatives(root, each))) {
    const listed = Array.isArray(schema['enum'])
      ? (schema['enum'] as unknown[])
      : 'const' in schema
        ? [schema['const']]
        : [];
    const all = schema['type'] === 'boolean' ? [true, false] : listed;
    for (const each of all) {
      const label = String(each);
      if (!found.has(label)) found.set(label, { label, info: aboutOf(schema), isKey: false });
    }
  }
  return [...found.values()];
}

function aboutOf(part: unknown): string | null {
  const { description = null } = (isObject(part) ? part : {}) as { readonly description?: unknown };
  return typeof description === 'string' ? description : null;
}

function isObject(value: unknown): value is Schema {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
