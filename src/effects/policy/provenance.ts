/**
 * `policy:provenance`: where the arguments of a proposed call come from, by a rule that anybody can follow with a finger.
 * Each value is looked for in what the user said, what the author wrote and what trusted tools gave; then in what came from
 * outside. Nothing is asked of anybody before something from outside has been seen. How strict it is, is the effect's affair.
 */
import type { ToolDef } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import type { Call } from '../../runtime/ports.ts';
import { even, sourceOf } from './sources.ts';
import type { TextSource } from './sources.ts';

/** `untrusted`: it stands in what came from outside. `composed`: it stands nowhere, so the model made it up. */
export type Origin = 'vouched' | 'untrusted' | 'composed-name' | 'composed-number' | 'composed-text';

/** What must not be in the arguments of a call of each class once something from outside has been seen. */
export const DEMANDS: { readonly [effect in ToolDef['effect']]: readonly Origin[] } = {
  read: [],
  write: ['untrusted'],
  communication: ['untrusted', 'composed-name'],
  financial: ['untrusted', 'composed-name', 'composed-number'],
  infrastructure: ['untrusted', 'composed-name', 'composed-number', 'composed-text'],
};

interface Observation {
  readonly tool: string;
  readonly args?: Json;
  readonly result?: Json;
  readonly error?: Json;
  /** What a person answered when they were asked about it. */
  readonly approved?: string | null;
}

export function checkProvenance({ command, flow }: Call): Json {
  const { tool: name, args = null, agent, user = null, prompt = null, observations } = command.input;
  const tool = flow.tools[String(name)];
  const demands = DEMANDS[tool?.effect ?? 'write'];
  const seen = (Array.isArray(observations) ? observations : []) as unknown as readonly Observation[];
  const heard = seen.map((each) => ({ ...each, ...partsOf(each.result ?? each.error ?? null, flow.tools[each.tool]) }));
  const outside = heard
    .filter(({ others }) => others.length > 0)
    .map((each) => sourceOf(`\`${each.tool}\``, each.others));
  if (readsBeforehand(flow)) outside.push(sourceOf('what the flow read before', [prompt]));
  if (demands.length === 0 || outside.length === 0) return { ok: true, exposed: outside.length > 0 };
  const vouching = [
    sourceOf('the user', [user]),
    sourceOf('the author', [flow.agents[String(agent)]?.instructions ?? '', ...fixedValues(tool?.input ?? true)]),
    sourceOf(
      'trusted tools',
      heard.flatMap((each) => each.own),
    ),
    sourceOf(
      'whoever approved it before',
      heard
        .filter((each) => each.tool === name && (each.approved === 'approve' || each.approved === 'edit'))
        .map((each) => each.args ?? null),
    ),
  ];
  const found = leavesOf(args).map(([path, value]) => ({ path, ...judge(value, vouching, outside) }));
  const bad = found.filter(({ origin }) => demands.includes(origin));
  if (bad.length > 0) return { ok: false, exposed: true, reason: bad.map(explain).join('; ') };
  if (found.some(({ origin }) => origin === 'vouched')) return { ok: true, exposed: true };
  return { ok: false, exposed: true, reason: 'nothing in the call comes from the user, the author or a trusted tool' };
}

/** What of a result its own side filled in, and what others may have written. */
function partsOf(
  result: Json,
  tool: ToolDef | undefined,
): { readonly own: readonly Json[]; readonly others: readonly Json[] } {
  if (tool?.trust === 'trusted') return { own: [result], others: [] };
  if (tool?.trust === 'neutral') return { own: [], others: [] };
  const fields = tool?.trustedFields ?? [];
  if (fields.length === 0) return { own: [], others: [result] };
  const own: Json[] = [];
  const others: Json[] = [];
  const walk = (value: Json, trusted: boolean): void => {
    if (value === null || typeof value !== 'object') void (trusted ? own : others).push(value);
    else if (Array.isArray(value)) for (const each of value) walk(each, trusted);
    // Only what stands in such a field itself is vouched for, not whatever is nested below it.
    else
      for (const [key, each] of Object.entries(value))
        walk(each, fields.includes(key) && (each === null || typeof each !== 'object'));
  };
  walk(structured(result), false);
  return { own, others };
}

/** Many tools give JSON as its text. */
function structured(value: Json): Json {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return value;
  }
}

interface Judged {
  readonly origin: Origin;
  readonly value: string | number;
  readonly source?: string;
}

function judge(value: string | number, vouching: readonly TextSource[], outside: readonly TextSource[]): Judged {
  const vouched = (each: string | number): boolean => vouching.some((source) => source.has(each));
  const from = (each: string | number): string | undefined => outside.find((source) => source.has(each))?.name;
  if (vouched(value)) return { origin: 'vouched', value };
  if (typeof value === 'number') {
    const source = from(value);
    return source === undefined ? { origin: 'composed-number', value } : { origin: 'untrusted', value, source };
  }
  const words = even(value).split(' ');
  // A date says when, not where to: it is everywhere, and nobody is served by asking about it.
  if (words.every((word) => DATE.test(word))) return { origin: 'composed-text', value };
  if (words.every((word) => vouched(bare(word)))) return { origin: 'vouched', value };
  const names = words.map(bare).filter((word) => isName(word) && !vouched(word));
  for (const part of [value, ...names, ...runsOf(words).filter((run) => !vouched(run))]) {
    const source = from(part);
    if (source !== undefined) return { origin: 'untrusted', value: part, source };
  }
  if (names[0] !== undefined) return { origin: 'composed-name', value: names[0] };
  return { origin: 'composed-text', value };
}

const DATE = /^\d{4}-\d{2}-\d{2}(t[\d:.]+z?)?$/;
const RUN = 4;
const NAME_DIGITS = 3;

/** Stretches of words that long are copied, not coincidence. */
function runsOf(words: readonly string[]): readonly string[] {
  return words.length < RUN
    ? []
    : words.slice(0, words.length - RUN + 1).map((_, at) => words.slice(at, at + RUN).join(' '));
}

function bare(word: string): string {
  return word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '');
}

/** Addresses, accounts, paths, keys: what points at something, as against plain words. */
function isName(word: string): boolean {
  if (/^[\d.,]+$/.test(word)) return false;
  return /[\p{L}\p{N}][@/_:#\\.][\p{L}\p{N}]/u.test(word) || (word.match(/\d/g)?.length ?? 0) >= NAME_DIGITS;
}

function leavesOf(value: Json, path = ''): readonly (readonly [string, string | number])[] {
  if (typeof value === 'string') return value.trim() === '' ? [] : [[path, value]];
  if (typeof value === 'number') return [[path, value]];
  if (value === null || typeof value !== 'object') return [];
  const entries = Array.isArray(value) ? value.map((each, at) => [String(at), each] as const) : Object.entries(value);
  return entries.flatMap(([key, each]) => leavesOf(each, path === '' ? key : `${path}.${key}`));
}

/** What the author put into the schema to choose from. */
function fixedValues(schema: Json): readonly Json[] {
  if (schema === null || typeof schema !== 'object') return [];
  if (Array.isArray(schema)) return schema.flatMap(fixedValues);
  const { enum: values, const: only, default: preset } = schema;
  return [
    ...(Array.isArray(values) ? values : []),
    only ?? null,
    preset ?? null,
    ...Object.values(schema).flatMap(fixedValues),
  ].filter((each) => typeof each === 'string' || typeof each === 'number');
}

/** Whether a tool that the author put into the flow may have brought something from outside into a prompt. */
function readsBeforehand({ nodes, tools }: Call['flow']): boolean {
  return Object.values(nodes).some(
    (node) =>
      node.op === 'do' &&
      node.effect.kind === 'tool' &&
      !('agent' in node.effect.input) &&
      tools[node.effect.tool]?.trust === undefined,
  );
}

function explain({ path, value, origin, source }: Judged & { readonly path: string }): string {
  const what = `\`${path}\` has \`${String(value).slice(0, 80)}\``;
  return origin === 'untrusted'
    ? `${what}, which comes from ${source}`
    : `${what}, which nobody but the model has named`;
}
