/**
 * The meta-schema of JSON Schema 2020-12 as a table: the kind of value that each keyword takes. A library would compile the
 * meta-schema at every start, which takes longer than the rest of a small document.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Path, Segment } from '../../source/located.ts';

/** A value that its keyword does not take. */
interface MetaFault {
  readonly path: Path;
  readonly message: string;
}

/** Only the innermost faults. A part around a faulty part is not reported again. */
export function metaFaults(schema: Json | undefined, path: Path = []): readonly MetaFault[] {
  if (typeof schema === 'boolean') return [];
  if (!isRecord(schema)) return [{ path, message: 'must be object,boolean' }];
  return Object.entries(schema).flatMap(([key, value]) => CHECKS.get(key)?.(value, [...path, key]) ?? []);
}

/** The segments of a JSON pointer into a value. */
export function pointerPath(pointer: string, root: Json): Path {
  const path: Segment[] = [];
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(valueAt(root, path)) ? Number(name) : name);
  }
  return path;
}

export function valueAt(root: Json, path: Path): Json | undefined {
  return path.reduce<Json | undefined>((value, segment) => {
    if (Array.isArray(value)) return value[Number(segment)];
    return isRecord(value) && Object.hasOwn(value, segment) ? value[segment] : undefined;
  }, root);
}

export const TYPES: readonly string[] = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

type Check = (value: Json, path: Path) => readonly MetaFault[];

const text = must((value) => typeof value === 'string', 'be string');
const flag = must((value) => typeof value === 'boolean', 'be boolean');
const number = must((value) => typeof value === 'number', 'be number');
const list = must((value) => Array.isArray(value), 'be array');
const name = allOf(text, must(matches(/^[A-Za-z_][-A-Za-z0-9._]*$/), 'match pattern "^[A-Za-z_][-A-Za-z0-9._]*$"'));
const names = allOf(list, each(text), unique);

const KINDS = {
  any: () => [],
  text,
  flag,
  number,
  list,
  name,
  names,
  id: allOf(text, must(matches(/^[^#]*#?$/), 'match pattern "^[^#]*#?$"')),
  positive: allOf(
    number,
    must((value) => Number(value) > 0, 'be > 0'),
  ),
  count: allOf(
    must(Number.isInteger, 'be integer'),
    must((value) => Number(value) >= 0, 'be >= 0'),
  ),
  type: typeFaults,
  schema: metaFaults,
  schemas: allOf(
    list,
    must((value) => (value as readonly Json[]).length > 0, 'NOT have fewer than 1 items'),
    each(metaFaults),
  ),
  schemaMap: mapOf(metaFaults),
  nameLists: mapOf(names),
  flagMap: mapOf(flag),
  dependencies: mapOf((value, path) => (Array.isArray(value) ? names(value, path) : metaFaults(value, path))),
} satisfies { readonly [kind: string]: Check };

function must(holds: (value: Json) => boolean, message: string): Check {
  return (value, path) => (holds(value) ? [] : [{ path, message: `must ${message}` }]);
}

function matches(pattern: RegExp): (value: Json) => boolean {
  return (value) => pattern.test(String(value));
}

/** The faults of the first check that finds any. */
function allOf(...checks: readonly Check[]): Check {
  return (value, path) =>
    checks.reduce<readonly MetaFault[]>((found, check) => (found.length > 0 ? found : check(value, path)), []);
}

function each(check: Check): Check {
  return (value, path) => (value as readonly Json[]).flatMap((item, index) => check(item, [...path, index]));
}

function mapOf(check: Check): Check {
  return (value, path) =>
    isRecord(value)
      ? Object.entries(value).flatMap(([key, inner]) => check(inner, [...path, key]))
      : [{ path, message: 'must be object' }];
}

function unique(value: Json, path: Path): readonly MetaFault[] {
  const items = value as readonly Json[];
  const first = items.findLastIndex((item, index) => items.includes(item, index + 1));
  if (first < 0) return [];
  const second = items.indexOf(items[first] ?? null, first + 1);
  return [{ path, message: `must NOT have duplicate items (items ## ${second} and ${first} are identical)` }];
}

function typeFaults(value: Json, path: Path): readonly MetaFault[] {
  const message = 'must be equal to one of the allowed values';
  if (!Array.isArray(value)) return TYPES.includes(value as string) ? [] : [{ path, message }];
  const wrong = value.flatMap((item, index) =>
    TYPES.includes(item as string) ? [] : [{ path: [...path, index], message }],
  );
  if (wrong.length > 0) return wrong;
  return value.length > 0 && new Set(value).size === value.length ? [] : [{ path, message }];
}

function words(text: string): readonly string[] {
  return text.split(' ');
}

/** The keywords by the kind of value that they take. */
export const KEYWORDS = {
  any: ['const', 'default'],
  text: words('$schema $ref $dynamicRef $comment pattern title description format contentEncoding contentMediaType'),
  flag: ['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'],
  number: ['maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  list: ['enum', 'examples'],
  name: ['$anchor', '$dynamicAnchor'],
  names: ['required'],
  id: ['$id'],
  positive: ['multipleOf'],
  count: words('maxLength minLength maxItems minItems maxContains minContains maxProperties minProperties'),
  type: ['type'],
  schema: words(
    'contentSchema additionalProperties items contains propertyNames not if then else unevaluatedItems unevaluatedProperties',
  ),
  schemas: ['allOf', 'anyOf', 'oneOf', 'prefixItems'],
  schemaMap: words('$defs definitions properties patternProperties dependentSchemas'),
  nameLists: ['dependentRequired'],
  flagMap: ['$vocabulary'],
  dependencies: ['dependencies'],
} satisfies { readonly [kind in keyof typeof KINDS]: readonly string[] };

const CHECKS: ReadonlyMap<string, Check> = new Map(
  Object.entries(KEYWORDS).flatMap(([kind, keywords]) =>
    keywords.map((keyword): [string, Check] => [keyword, KINDS[kind as keyof typeof KINDS]]),
  ),
);
