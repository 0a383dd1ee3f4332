/**
 * Tells whether a value is a JSON Schema 2020-12 that means something: it fits the meta-schema, its references lead
 * somewhere inside it, its patterns can be read, and no keyword is misspelt. Unknown keywords that resemble none are
 * annotations, which JSON Schema allows.
 */
import { isRecord, misspelt, schemaPattern } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { listed } from './fault-words.ts';
import type { Path } from '../../source/located.ts';
import { didYouMean } from '../../source/nearest.ts';
import { fault, jsonMap } from './fields.ts';
import { KEYWORDS, TYPES, metaFaults, pointerPath, valueAt } from './meta-schema.ts';

export interface SchemaProblem {
  readonly path: Path;
  readonly on: 'key' | 'value';
  readonly message: string;
  readonly help?: string | undefined;
}

export function schemaProblems(schema: Json): readonly SchemaProblem[] {
  const broken = metaFaults(schema).map(({ path, message }) => metaProblem(path, message, schema));
  return broken.length > 0 ? broken : walk(schema, [], schema);
}

function metaProblem(path: Path, fault: string, schema: Json): SchemaProblem {
  const key = path.findLast((segment) => typeof segment === 'string');
  const given = valueAt(schema, path);
  if (key === 'type' && typeof given === 'string') {
    const help = didYouMean(given, TYPES, `The types are ${listed(TYPES)}.`);
    return { path, on: 'value', message: `\`${given}\` is not a type of JSON Schema`, help };
  }
  const subject = key === undefined ? 'this schema' : `\`${key}\``;
  const [rule, help] = META_WORDS[fault] ?? [fault, 'Correct the value. docs/errors/bad-schema.md has an example.'];
  const isType = fault === NOT_A_SCHEMA && TYPES.includes(String(given));
  return {
    path,
    on: 'value',
    message: `${subject} ${rule}${given === undefined ? '' : `, but is ${shown(given)}`}`,
    help: isType ? `Write \`{ type: ${String(given)} }\`.` : help,
  };
}

function shown(value: Json): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (isRecord(value)) return 'a map';
  return typeof value === 'string' ? `the text ${JSON.stringify(value)}` : String(value);
}

const NOT_A_SCHEMA = 'must be object,boolean';

/** The rules of the meta-schema in plain words, each with a help line. */
const META_WORDS: { readonly [fault: string]: readonly [string, string] } = {
  [NOT_A_SCHEMA]: ['must be a schema', 'A schema is a map such as `{ type: string }`, or `true` or `false`.'],
  'must be string': ['must be text', 'Put the value in quotes.'],
  'must be boolean': ['must be true or false', 'Write `true` or `false`, without quotes.'],
  'must be number': ['must be a number', 'Write a number, without quotes.'],
  'must be integer': ['must be a whole number', 'Write a number such as `3`.'],
  'must be array': ['must be a list', 'Put the values in brackets: `[a, b]`.'],
  'must be object': ['must be a map', 'Write names and schemas: `{ name: { type: string } }`.'],
  'must be >= 0': ['must be at least 0', 'Write a number of at least 0.'],
  'must be > 0': ['must be above 0', 'Write a number above 0.'],
  'must NOT have fewer than 1 items': ['must have at least one item', 'Add a schema to the list.'],
};

function walk(schema: Json | undefined, path: Path, root: Json): readonly SchemaProblem[] {
  if (!isRecord(schema)) return [];
  const problems: SchemaProblem[] = [];
  for (const key of Object.keys(schema)) {
    const problem = KNOWN.has(key) ? undefined : keywordProblem(key, [...path, key]);
    if (problem !== undefined) problems.push(problem);
  }
  if (typeof schema['$ref'] === 'string' && !resolves(schema['$ref'], root)) {
    problems.push({
      path: [...path, '$ref'],
      on: 'value',
      message: `\`$ref\` leads to \`${schema['$ref']}\`, which is not in this schema`,
      help: 'References stay within one schema: use `#/$defs/name`.',
    });
  }
  if (typeof schema['pattern'] === 'string')
    problems.push(...patternProblem(schema['pattern'], [...path, 'pattern'], 'value'));
  for (const key of KEYWORDS.schema) problems.push(...walk(schema[key], [...path, key], root));
  for (const key of KEYWORDS.schemas) {
    const list = schema[key];
    if (Array.isArray(list)) problems.push(...list.flatMap((item, index) => walk(item, [...path, key, index], root)));
  }
  for (const key of KEYWORDS.schemaMap) {
    const map = schema[key];
    if (!isRecord(map)) continue;
    for (const [inner, value] of Object.entries(map)) {
      if (key === 'patternProperties') problems.push(...patternProblem(inner, [...path, key, inner], 'key'));
      problems.push(...walk(value, [...path, key, inner], root));
    }
  }
  return problems;
}

function keywordProblem(key: string, path: Path): SchemaProblem | undefined {
  if (key === 'nullable')
    return {
      path,
      on: 'key',
      message: '`nullable` is not a keyword of JSON Schema',
      help: 'List the type: `type: [string, "null"]`.',
    };
  // A key that is not close to a keyword is an annotation of the author.
  const near = key.startsWith('x-') ? undefined : misspelt(key, KNOWN);
  return near === undefined
    ? undefined
    : { path, on: 'key', message: `\`${key}\` is not a keyword of JSON Schema`, help: `Did you mean \`${near}\`?` };
}

function patternProblem(pattern: string, path: Path, on: 'key' | 'value'): readonly SchemaProblem[] {
  try {
    void new RegExp(pattern, 'u');
  } catch {
    return [{ path, on, message: `the pattern \`${pattern}\` is not a valid regular expression` }];
  }
  try {
    schemaPattern(pattern);
    return [];
  } catch (error) {
    const message = `the pattern \`${pattern}\` cannot run in linear time: ${(error as Error).message}`;
    const help = 'Lookaround, backreferences and more than 1,000 repetitions are not supported.';
    return [{ path, on, message, help }];
  }
}

function resolves(reference: string, root: Json): boolean {
  if (reference === '#') return true;
  if (reference.startsWith('#/')) {
    // Parts are decoded one by one, as the validator does: `%2F` is a slash in a name.
    const pointer = reference
      .slice(1)
      .split('/')
      .map((part) => decoded(part).replaceAll('/', '~1'))
      .join('/');
    return valueAt(root, pointerPath(pointer, root)) !== undefined;
  }
  return reference.startsWith('#') && JSON.stringify(root).includes(`"$anchor":${JSON.stringify(reference.slice(1))}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function jsonSchema() {
  return jsonMap().superRefine((schema, context) => {
    for (const problem of schemaProblems(schema)) {
      const message = fault('bad-schema', problem.message, problem.help);
      context.addIssue({ code: 'custom', message, path: [...problem.path], params: { on: problem.on } });
    }
  });
}

const KNOWN: ReadonlySet<string> = new Set(Object.values(KEYWORDS).flat());
