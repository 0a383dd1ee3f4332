/** The fields of a form from the JSON Schema of an input. */

export interface Field {
  readonly name: string;
  readonly about: string | null;
  readonly kind: 'text' | 'number' | 'boolean' | 'json';
  readonly choices: readonly string[] | null;
  readonly isNeeded: boolean;
}

/** Without a schema, the whole input is one text or JSON. */
const WHOLE = 'Input';

export function fieldsOf(schema: unknown): readonly Field[] {
  if (!isObject(schema) || !isObject(schema['properties'])) return [whole(schema)];
  const needed = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
  return Object.entries(schema['properties']).map(([name, part]) => ({
    ...{ name, isNeeded: needed.includes(name) },
    ...shapeOf(part),
  }));
}

function whole(schema: unknown): Field {
  return { name: WHOLE, isNeeded: false, ...shapeOf(schema), kind: 'json', choices: null };
}

function shapeOf(part: unknown): Pick<Field, 'about' | 'kind' | 'choices'> {
  const {
    type,
    description = null,
    enum: listed,
  } = (isObject(part) ? part : {}) as {
    readonly type?: unknown;
    readonly description?: string | null;
    readonly enum?: unknown;
  };
  const about = typeof description === 'string' ? description : null;
  if (Array.isArray(listed) && listed.every((each) => typeof each === 'string'))
    return { about, kind: 'text', choices: listed };
  if (type === 'boolean') return { about, kind: 'boolean', choices: ['true', 'false'] };
  if (type === 'number' || type === 'integer') return { about, kind: 'number', choices: null };
  return { about, kind: type === 'string' ? 'text' : 'json', choices: null };
}

/** What is left empty is left out. */
export function inputOf(fields: readonly Field[], values: { readonly [name: string]: string }): unknown {
  const [only] = fields;
  if (fields.length === 1 && only?.name === WHOLE) return jsonOrText(values[WHOLE] ?? '');
  return Object.fromEntries(
    fields.flatMap(({ name, kind }) => {
      const text = values[name] ?? '';
      return text === '' ? [] : [[name, valueOf(kind, text)] as const];
    }),
  );
}

function valueOf(kind: Field['kind'], text: string): unknown {
  if (kind === 'number') return Number(text);
  if (kind === 'boolean') return text === 'true';
  return kind === 'json' ? jsonOrText(text) : text;
}

/** An object or a list as JSON; anything else as it is typed. */
function jsonOrText(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
