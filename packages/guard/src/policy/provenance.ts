/**
 * The control `provenance` finds the source of each argument of a proposed call. The input, the author and trusted tools vouch for
 * a value as a whole token. Any other text from outside taints it. A value without a source was composed by the model. There
 * are no rules until the run has read something from outside. The rules depend on the effect class.
 */
import { isRecord, listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import type { Call } from '@sluice-internal/engine/ports';
import { codesOf, isCurrencyField } from './currencies.ts';
import { disguisesOf, squeezedReadings } from './disguises.ts';
import { flagOf, flagWords, isDeciding, isFree, kindOfField, mayHoldError, restingFlag } from './field-kinds.ts';
import { untrustedInput, vouchingInput } from './input-trust.ts';
import { bare, even, isFilled, isName, squeezed, structured, taintOf, type TaintSource } from '../text/sources.ts';
import { sourceOf, type VouchingSource } from './vouching.ts';

/** `today`: the present date. `untrusted`: from outside. `composed`: from no source. `composed-key`: in a field that decides who, what, how much or when. */
type Origin =
  | 'vouched'
  | 'today'
  | 'untrusted'
  | 'composed-key'
  | 'composed-name'
  | 'composed-number'
  | 'composed-text';

/** The origins that a call of each class must not have once something from outside has been seen. */
const DEMANDS: { readonly [effect in ToolDef['effect']]: readonly Origin[] } = {
  read: [],
  egress: ['untrusted', 'composed-name'],
  write: ['untrusted'],
  communication: ['untrusted', 'composed-key', 'composed-name', 'composed-number'],
  financial: ['untrusted', 'composed-key', 'composed-name', 'composed-number'],
  infrastructure: ['untrusted', 'composed-key', 'composed-name', 'composed-number', 'composed-text'],
};

export interface Observation {
  readonly tool: string;
  readonly args?: Json;
  readonly result?: Json;
  readonly error?: Json;
  /** The answer of the person who was asked about the call. */
  readonly approved?: string | null;
}

export function checkProvenance({ command, flow, clock }: Call): Json {
  const { tool: name, args = null, user = null, observations, fixed = null, unasked = null } = command.input;
  const input = vouchingInput(user, untrustedInput(command, flow));
  const effect = flow.tools[String(name)]?.effect ?? 'write';
  const demands = DEMANDS[effect];
  const seen = listOf(observations) as readonly Observation[];
  const split = seen.map((each) => ({ each, ...partsOf(each, flow.tools[each.tool]) }));
  const outside = [
    ...split.filter(({ others }) => others.length > 0).map(({ each, others }) => taintOf(`\`${each.tool}\``, others)),
    ...(input.foreign.length > 0 ? [taintOf('the input', input.foreign)] : []),
    ...readBefore(flow, command.input),
  ];
  const quarantined = withheldFrom(command.input);
  const exposed = outside.length > 0;
  const isInvented = forbidsInvention(unasked, demands);
  if (demands.length === 0 || (!exposed && !isInvented && quarantined.length === 0)) return { ok: true, exposed };
  const vouching = [
    sourceOf('the user', input.vouching),
    ...sourceOfPeople(command.input),
    authorSource(flow, command.input),
    ...split.filter(({ own }) => own.length > 0).map(({ each, own }) => withoutEcho(each, own)),
  ];
  const approved = approvedLeaves(seen, name);
  const sources = [...outside, ...quarantined];
  const schema = flow.tools[String(name)]?.input ?? null;
  const judged = leavesOf(args).map((leaf) => ({
    path: leaf.path,
    ...(isCovered(leaf, approved)
      ? vouchedFor(leaf.value)
      : isToday(leaf.value, clock.now())
        ? { origin: 'today' as const, value: leaf.value }
        : judge(leaf, vouching, sources, { effect, schema })),
  }));
  const found = timesOfKnownDates(judged);
  found.push(...fieldNamesOf(args).flatMap((leaf) => namedOutside(leaf, vouching, sources)));
  const doubted = found.filter(({ source, path }) => source !== ERRORS || !mayHoldError(effect, path));
  // The author of a tool node has decided that the tool is called. Quarantined text was in no prompt, so without other text
  // from outside only a value that it has is suspicious.
  return exposed
    ? verdict(doubted, demands, { exposed, isAuthored: fixed !== null })
    : verdict(
        doubted,
        demands.filter((origin) => origin === 'untrusted' || (isInvented && origin === 'composed-key')),
        { exposed, isAuthored: true },
      );
}

/** Nobody is asked about the effect of the tool, so the agent may not invent who, what, how much or when, whatever it has read. */
function forbidsInvention(unasked: Json, demands: readonly string[]): boolean {
  return unasked !== null && demands.includes('composed-key');
}

const HOUR_MS = 3_600_000;

/** The date of this moment, somewhere on earth: no source has to name it. */
function isToday(value: unknown, now: number): boolean {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(value))
    return false;
  const days = [-12, 0, 14].map((hours) => new Date(now + hours * HOUR_MS).toISOString().slice(0, 10));
  return days.includes(value.slice(0, 10));
}

const ERRORS = 'an error';
const TIME = /^\d{1,2}:\d{2}(?::\d{2})?(?:\s*[ap]m)?$/i;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** A time is vouched for if the date beside it is. */
function timesOfKnownDates<T extends Judged & { readonly path: string }>(found: readonly T[]): T[] {
  const parentOf = (path: string): string => path.split('.').slice(0, -1).join('.');
  const dated = found.filter(
    ({ origin, value }) => (origin === 'vouched' || origin === 'today') && DATE.test(String(value)),
  );
  const parents = new Set(dated.map(({ path }) => parentOf(path)));
  return found.map((each) =>
    TIME.test(String(each.value)) && parents.has(parentOf(each.path)) ? { ...each, origin: 'vouched' } : each,
  );
}

/** What people have said to the agents while the run went on. */
function sourceOfPeople({ people = null }: Input): readonly VouchingSource[] {
  return isFilled(people) ? [sourceOf('a person', [people])] : [];
}

function authorSource(flow: Call['flow'], { tool, agent, fixed = null }: Input): VouchingSource {
  return sourceOf('the author', [
    flow.agents[String(agent)]?.instructions ?? '',
    fixed,
    ...fixedValues(flow.tools[String(tool)]?.input ?? true),
  ]);
}

/** Quarantined memory of the agent. */
function withheldFrom({ withheld = null }: Input): readonly TaintSource[] {
  return isFilled(withheld) ? [taintOf('quarantined memory', [withheld])] : [];
}

function verdict(
  found: readonly (Judged & { readonly path: string })[],
  demands: readonly Origin[],
  { exposed, isAuthored }: { readonly exposed: boolean; readonly isAuthored: boolean },
): Json {
  const bad = found.filter(({ origin }) => demands.includes(origin));
  if (bad.length > 0) return { ok: false, exposed, reason: bad.map(explain).join('; ') };
  if (isAuthored || found.some(({ origin }) => origin === 'vouched')) return { ok: true, exposed };
  return { ok: false, exposed, reason: 'nothing in the call comes from the user, the author or a trusted tool' };
}

/** Text from outside that the agent or the flow has read before the call. */
function readBefore(
  flow: Call['flow'],
  { prompt = null, before = null, errors = null, recalled = null, agent = null, tool = null }: Input,
): readonly TaintSource[] {
  return [
    ...(prompt !== null && readsBeforehand(flow) ? [taintOf('text that the flow read before', [prompt])] : []),
    ...(isFilled(before) ? [taintOf('text that the flow read before', [before])] : []),
    ...(isFilled(errors) ? [taintOf(ERRORS, [errors])] : []),
    ...(isFilled(recalled) ? [taintOf('memory', [recalled])] : []),
    ...descriptionsOf(flow, String(agent), String(tool)),
  ];
}

/**
 * Descriptions of MCP tools, which the agent reads before it calls anything. The description of a server that is not trusted can
 * try to misuse tools of others. Its own tools are not compared.
 */
function descriptionsOf({ agents, tools }: Call['flow'], agent: string, called: string): readonly TaintSource[] {
  const target = serverOf(tools[called]);
  return (agents[agent]?.tools ?? []).flatMap((name) => {
    const tool = tools[name];
    const { server, locked } = serverOf(tool);
    if (server === null || locked === null || server === target.server || tool?.trust === 'trusted') return [];
    const written = [locked['description'] ?? null, locked['input'] ?? null].filter(isFilled);
    return tool?.description === locked['description'] && written.length > 0
      ? [taintOf(`the description of \`${name}\``, written)]
      : [];
  });
}

/** The MCP server of a tool, if it has one that the document does not trust, and the tool as the lock has it. */
function serverOf(tool: ToolDef | undefined): { readonly server: string | null; readonly locked: JsonObject | null } {
  const { implementation = null } = tool ?? {};
  if (!isRecord(implementation) || typeof implementation['mcp'] !== 'string') return { server: null, locked: null };
  const { mcp, server = null, locked = null } = implementation;
  const isTrusted = isRecord(server) && server['trusted'] === true;
  return { server: isTrusted ? null : (mcp.split('/')[0] ?? null), locked: isRecord(locked) ? locked : null };
}
type JsonObject = { readonly [field: string]: Json };

type Input = Call['command']['input'];

/** The arguments of calls of a tool that a person approved. */
export function approvedLeaves(seen: readonly Observation[], name: Json | undefined): readonly Leaf[] {
  const isApproved = ({ tool, approved }: Observation): boolean =>
    tool === name && (approved === 'approve' || approved === 'edit');
  return seen.filter(isApproved).flatMap(({ args }) => leavesOf(args));
}

/** An approval covers the value in the field in which it was approved. */
export function isCovered({ path, value }: Leaf, approved: readonly Leaf[]): boolean {
  const field = fieldOf(path);
  return approved.some((each) => fieldOf(each.path) === field && each.value === value);
}

function fieldOf(path: string): string {
  return path.replace(/\.\d+/g, '');
}

/** A trusted tool does not vouch for values from the arguments of its own call, in any encoding or in parts. */
function withoutEcho({ args = null }: Observation, own: readonly Json[]): VouchingSource {
  const result = sourceOf('trusted tools', own);
  const given = taintOf('the arguments', [args]);
  const texts = leavesOf(args).map(({ value }) => String(value));
  const readings = [...texts, texts.join('')].flatMap(squeezedReadings);
  const isEcho = (value: string | number): boolean => {
    if (given.has(value)) return true;
    if (typeof value === 'number' || !isName(value)) return false;
    const plain = squeezed(value);
    const parts = value.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== '');
    return readings.some((reading) => reading.includes(plain)) || parts.every((part) => given.has(part));
  };
  return {
    name: result.name,
    has: (value, kind) => result.has(value, kind) && !isEcho(value),
    currencies: () => new Set([...result.currencies()].filter((code) => !isEcho(code))),
  };
}

/** The parts of a result that the tool's own side wrote, and the parts that others may have written. Errors quote others. */
function partsOf(
  { result = null, error = null }: Observation,
  tool: ToolDef | undefined,
): { readonly own: readonly Json[]; readonly others: readonly Json[] } {
  const failed = error === null ? [] : [error];
  if (tool?.trust === 'trusted') return { own: [result], others: failed };
  if (tool?.trust === 'neutral') return { own: [], others: failed };
  const own: Json[] = [];
  const others: Json[] = [...failed];
  const walk = (value: Json, trusted: boolean, names: readonly string[]): void => {
    const data = structured(value);
    // The fields of JSON that stands in a field of the result are not fields of the tool: an outsider may have written the text.
    const known = data === value || value === result ? names : [];
    if (data === null || typeof data !== 'object') void (trusted ? own : others).push(data);
    else if (Array.isArray(data)) for (const each of data) walk(each, trusted, known);
    // A trusted field vouches for its own value, not for what is nested below it.
    else
      for (const [key, each] of Object.entries(data))
        walk(each, known.includes(key) && (each === null || typeof each !== 'object'), known);
  };
  if (result !== null) walk(result, false, tool?.trustedFields ?? []);
  return { own, others };
}

type Value = string | number | boolean;

interface Judged {
  readonly origin: Origin;
  readonly value: Value;
  readonly source?: string;
}

function vouchedFor(value: Value): Judged {
  return { origin: 'vouched', value };
}

function judge(
  leaf: Leaf,
  vouching: readonly VouchingSource[],
  outside: readonly TaintSource[],
  { effect, schema }: { readonly effect: string; readonly schema: Json },
): Judged {
  const { path, value } = leaf;
  const isKeyed = KEYED.has(effect);
  const kind = isKeyed ? kindOfField(fieldName(path)) : null;
  const vouched = (each: string | number): boolean => vouching.some((source) => source.has(each, kind));
  const flag = flagOf(path, value);
  if (flag !== null && isKeyed) return judgeFlag(leaf, flag, vouched, schema);
  if (typeof value === 'boolean') return { origin: 'composed-text', value };
  if (vouched(value) || (isKeyed && isNamedCurrency(leaf, vouching))) return vouchedFor(value);
  const isKey = isKeyed && (isDeciding(path) || isOtherCurrency(leaf, vouching));
  if (typeof value === 'number')
    return judgeNumber(value, nameOf(value, outside), isKey, effect === 'communication' && isFree(path));
  return judgeText(value, vouched, outside, isKey || (isKeyed && isCode(leaf)));
}

function isNamedCurrency({ path, value }: Leaf, vouching: readonly VouchingSource[]): boolean {
  if (!isCurrencyField(path)) return false;
  const codes = codesOf(String(value));
  return vouching.some((source) => codes.some((code) => source.currencies().has(code)));
}

/** True if the sources name currencies, and not this one. If they name none, the model may choose. */
function isOtherCurrency({ path }: Leaf, vouching: readonly VouchingSource[]): boolean {
  return isCurrencyField(path) && vouching.some((source) => source.currencies().size > 0);
}

/** The first source from outside that has the value. */
function nameOf(value: string | number, outside: readonly TaintSource[]): string | undefined {
  return outside.find((source) => source.has(value))?.name;
}

function judgeNumber(value: number, source: string | undefined, isKey: boolean, isOwn: boolean): Judged {
  if (source !== undefined) return { origin: 'untrusted', value, source };
  if (isKey) return { origin: 'composed-key', value };
  return { origin: isOwn ? 'composed-text' : 'composed-number', value };
}

/** A single word with a digit outside free text, such as `u7`: it selects something. */
function isCode({ path, value }: Leaf): boolean {
  return !isFree(path) && /^\S*\d\S*$/.test(String(value).trim());
}

/** The name of a field, if it is a name from outside. */
function namedOutside(
  { path, value }: Leaf,
  vouching: readonly VouchingSource[],
  outside: readonly TaintSource[],
): readonly (Judged & { readonly path: string })[] {
  const name = String(value);
  const vouched = (each: string): boolean => vouching.some((source) => source.has(each));
  if (vouched(name)) return [];
  const isValue = isName(name) || (isDeciding(path.split('.').slice(0, -1).join('.')) && !NAME_PARTS.has(name));
  const source = isValue ? nameOf(name, outside) : undefined;
  const judged: Judged | undefined =
    source === undefined ? hidden(name, vouched, outside) : { origin: 'untrusted', value: name, source };
  return judged === undefined ? [] : [{ path, ...judged }];
}

/** Names of fields that a recipient has. */
const NAME_PARTS: ReadonlySet<string> = new Set(['name', 'email', 'address', 'id', 'type', 'first', 'last', 'number']);

/** A name from outside that the text contains in pieces or in code. */
function hidden(
  value: string,
  vouched: (each: string) => boolean,
  outside: readonly TaintSource[],
): Judged | undefined {
  const readings = squeezedReadings(value);
  for (const source of outside) {
    const name = source.namesWithin(readings).find((each) => !vouched(each));
    if (name !== undefined) return { origin: 'untrusted', value: name, source: source.name };
  }
  return undefined;
}

/** A flag is vouched for by all words of its name. A flag in the state that has no effect needs no source. */
function judgeFlag({ path, value }: Leaf, flag: boolean, vouched: (each: string) => boolean, schema: Json): Judged {
  const isNamed = restingFlag(path, schema) === flag || flagWords(path).every((word) => vouched(word));
  return { origin: isNamed ? 'composed-text' : 'composed-key', value };
}

function judgeText(
  value: string,
  vouched: (each: string) => boolean,
  outside: readonly TaintSource[],
  isKey: boolean,
): Judged {
  const words = even(value).split(' ');
  if (words.every((word) => vouched(bare(word)))) return vouchedFor(value);
  const names = words.map(bare).filter((word) => isName(word) && !vouched(word));
  const copied = runsOf(words).filter((run) => !vouched(run));
  for (const part of [value, ...names, ...copied, ...disguisesOf(value)]) {
    const source = nameOf(part, outside);
    if (source !== undefined) return { origin: 'untrusted', value: part, source };
  }
  const found = hidden(value, vouched, outside);
  if (found !== undefined) return found;
  if (isKey) return { origin: 'composed-key', value };
  if (names[0] !== undefined) return { origin: 'composed-name', value: names[0] };
  return { origin: 'composed-text', value };
}

/** Classes in which the fields below must be vouched for, in any form of value. */
const KEYED: ReadonlySet<string> = new Set(['financial', 'communication', 'infrastructure']);

function fieldName(path: string): string {
  return fieldOf(path).split('.').at(-1) ?? '';
}

const RUN = 4;

/** Sequences of so many words are copied, not coincidence. */
function runsOf(words: readonly string[]): readonly string[] {
  return words.length < RUN
    ? []
    : words.slice(0, words.length - RUN + 1).map((_, at) => words.slice(at, at + RUN).join(' '));
}

export interface Leaf {
  readonly path: string;
  readonly value: Value;
}

export function leavesOf(value: Json | undefined, path = ''): readonly Leaf[] {
  const data = structured(value ?? null);
  if (typeof data === 'string') return data.trim() === '' ? [] : [{ path, value: data }];
  if (typeof data === 'number' || typeof data === 'boolean') return [{ path, value: data }];
  if (data === null) return [];
  const entries = Array.isArray(data) ? data.map((each, at) => [String(at), each] as const) : Object.entries(data);
  return entries.flatMap(([key, each]) => leavesOf(each, path === '' ? key : `${path}.${key}`));
}

/** The names of the fields, at any depth: a name can carry a value too. */
export function fieldNamesOf(value: Json | undefined, path = ''): readonly Leaf[] {
  const data = structured(value ?? null);
  if (data === null || typeof data !== 'object') return [];
  if (Array.isArray(data)) return data.flatMap((each, at) => fieldNamesOf(each, `${path}.${at}`));
  return Object.entries(data).flatMap(([key, each]) => {
    const inner = path === '' ? key : `${path}.${key}`;
    return [{ path: inner, value: key }, ...fieldNamesOf(each, inner)];
  });
}

/** The values that the author put into the schema. */
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

/** A tool node of the flow may have brought text from outside into the prompt. */
function readsBeforehand(flow: Call['flow']): boolean {
  return toolNodes(flow).some((tool) => flow.tools[tool]?.trust === undefined);
}

/** The tools that nodes of the author call, and not an agent. */
export function toolNodes({ nodes }: Call['flow']): readonly string[] {
  return Object.values(nodes).flatMap((node) =>
    node.op === 'do' && node.effect.kind === 'tool' && !('agent' in node.effect.input) ? [node.effect.tool] : [],
  );
}

function explain({ path, value, origin, source }: Judged & { readonly path: string }): string {
  const what = `\`${path}\` has \`${String(value).slice(0, 80)}\``;
  return origin === 'untrusted' ? `${what}, which comes from ${source}` : `${what}, which only the model has named`;
}
