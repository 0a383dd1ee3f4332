/** The answer of a person before it is sent: the changed arguments, as text. */
import type { OpenQuestion } from '../data/types.ts';

export interface Draft {
  /** The arguments as they are asked about; undefined if they cannot be changed. */
  readonly original: unknown;
  /** JSON as it is typed; null while nothing is edited. */
  readonly text: string | null;
}

export function startOfDraft(question: OpenQuestion): Draft {
  return { original: editable(question), text: null };
}

/** The choice that takes changed data. */
export function editChoice({ choices, needs }: OpenQuestion): string | undefined {
  return choices.find((each) => each === 'edit') ?? choices.find((each) => needs[each] === 'edit');
}

function editable(question: OpenQuestion): unknown {
  if (editChoice(question) === undefined) return undefined;
  const { data, packet } = question;
  return data['args'] ?? packet.effects.find(({ certain }) => certain)?.args ?? {};
}

/** What was typed; undefined if it is no JSON or changes nothing. */
export function editOf({ original, text }: Draft): unknown {
  if (text === null) return undefined;
  const parsed = parsedJson(text);
  return parsed === undefined || JSON.stringify(parsed) === JSON.stringify(original) ? undefined : parsed;
}

export function problemOf({ text }: Draft): string | null {
  if (text === null || parsedJson(text) !== undefined) return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : 'This is no JSON.';
  }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export interface Changed {
  readonly path: string;
  readonly before: Part | null;
  readonly after: Part | null;
}

/** A value as text, with the part that differs in the middle. */
export interface Part {
  readonly head: string;
  readonly middle: string;
  readonly tail: string;
}

/** The values that differ, by the path of their field. */
export function changesBetween(before: unknown, after: unknown, path = ''): readonly Changed[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => changesBetween(before[name], after[name], path === '' ? name : `${path}.${name}`));
  }
  const [one, other] = [shown(before), shown(after)];
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < one.length - head && tail < other.length - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1;
  const part = (text: string): Part => ({
    head: text.slice(0, head),
    middle: text.slice(head, text.length - tail),
    tail: tail === 0 ? '' : text.slice(-tail),
  });
  return [{ path, before: before === undefined ? null : part(one), after: after === undefined ? null : part(other) }];
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
