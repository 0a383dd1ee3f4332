/** The observations of a run that a question rests on: what each argument of a call comes from, and what a person looks at. */
import { isRecord, wordIn } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, RunState } from '@sluice-internal/kernel/ir';
import type { PacketEvidence, PacketSource } from '../ports/packet.ts';
import type { RunCall } from './calls.ts';

/** Something that the run has observed. */
export interface Observed {
  readonly from: string;
  readonly kind: 'input' | 'person' | 'tool' | 'model' | 'check';
  readonly args: Json;
  readonly value: Json;
  /** Fields that outsiders cannot write. All of them if true. */
  readonly trusted: boolean | readonly string[];
  /** It changes something. */
  readonly changes: boolean;
  /** The node of the graph. */
  readonly id: string;
}

const ENTRIES_MAX = 20;
/** Longer texts are cut to their head. */
const TEXT_MAX = 2_000;

/** A remark of a person. */
const SAID = { kind: 'person', args: null, trusted: true, changes: false, id: 'guidance' } as const;

/** The input first, then the remarks of people, then the calls in their order. */
export function observedIn(flow: CompiledFlow, state: RunState, calls: Iterable<RunCall>): readonly Observed[] {
  const observed: Observed[] = [
    {
      from: 'input',
      kind: 'input',
      args: null,
      value: state.input,
      trusted: trustOfInput(flow, state),
      changes: false,
      id: '',
    },
    ...(state.remarks ?? []).map(({ by, text }): Observed => ({ ...SAID, from: by, value: text })),
  ];
  for (const call of calls) {
    const last = call.attempts.findLast(({ ok }) => ok);
    if (last !== undefined && call.verdict?.accepted === true) observed.push(...observationOf(flow, call, last.value));
  }
  return observed;
}

function observationOf(flow: CompiledFlow, { kind, name, node, id, input }: RunCall, value: Json): readonly Observed[] {
  const common = { args: null, id, changes: false };
  if (kind === 'tool') {
    const { trust, trustedFields = [], effect = 'write' } = flow.tools[name] ?? {};
    const trusted = trust === 'trusted' || trustedFields;
    return [{ ...common, from: name, kind, args: input['args'] ?? null, value, trusted, changes: !onlyReads(effect) }];
  }
  if (kind === 'model') return [{ ...common, from: node, kind, value: textOf(value), trusted: false }];
  if (kind === 'ask')
    return said(value).map((words) => ({ ...common, from: byOf(value), kind: 'person', value: words, trusted: true }));
  return kind === 'check' ? [{ ...common, from: name, kind, value, trusted: true }] : [];
}

function textOf(reply: Json): Json {
  return isRecord(reply) ? (reply['text'] ?? null) : reply;
}

/** The words and the data of an answer. */
function said(answer: Json): readonly Json[] {
  if (!isRecord(answer)) return [];
  return [answer['text'], answer['edit']].flatMap((each) => (each === undefined || each === null ? [] : [each]));
}

function byOf(answer: Json): string {
  return isRecord(answer) && typeof answer['by'] === 'string' ? answer['by'] : 'a person';
}

/** A boundary may say that others have written the input, or some of its fields. */
function trustOfInput({ boundaries = {} }: CompiledFlow, { input }: RunState): boolean | readonly string[] {
  const all = Object.values(boundaries).map(({ untrustedInput }) => untrustedInput ?? []);
  if (all.includes(true)) return false;
  const untrusted = all.flatMap((fields) => (fields === true ? [] : fields));
  if (untrusted.length === 0 || !isRecord(input)) return true;
  return Object.keys(input).filter((field) => !untrusted.includes(field));
}

export interface Traced {
  readonly sources: readonly PacketSource[];
  readonly used: readonly { readonly of: Observed; readonly path: string; readonly trusted: boolean }[];
}

/** Names the source of a value that no observation has. */
type Otherwise = (path: string) => Pick<PacketSource, 'from' | 'trusted'>;

/** Each value of the arguments, and the observation that has it. A trusted one is preferred, then the latest one. */
export function traced(args: Json, observed: readonly Observed[], otherwise: Otherwise): Traced {
  const sources: PacketSource[] = [];
  const used: { of: Observed; path: string; trusted: boolean }[] = [];
  for (const { path, value } of leavesOf(args, '')) {
    const holding = observed.filter((each) => each.kind !== 'check' && holds(each.value, value));
    const trusted = holding.filter((each) => vouches(each, value));
    const of = trusted.find(({ kind }) => kind === 'input') ?? trusted.at(-1) ?? holding.at(-1);
    if (of === undefined) sources.push({ path, ...otherwise(path) });
    else {
      const isTrusted = trusted.includes(of);
      sources.push({ path, from: of.from, trusted: isTrusted });
      used.push({ of, path, trusted: isTrusted });
    }
  }
  return { sources, used };
}

function vouches({ trusted, value }: Observed, wanted: Leaf['value']): boolean {
  if (typeof trusted === 'boolean') return trusted;
  return isRecord(value) && trusted.some((field) => holds(value[field] ?? null, wanted));
}

interface Leaf {
  readonly path: string;
  readonly value: string | number;
}

function leavesOf(value: Json, path: string): readonly Leaf[] {
  if (typeof value === 'string' || typeof value === 'number') return value === '' ? [] : [{ path, value }];
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, each]) => leavesOf(each, path === '' ? key : `${path}.${key}`));
}

/** The value is there: as it is, or as a word of a text. */
function holds(value: Json, wanted: Leaf['value']): boolean {
  if (value === wanted) return true;
  if (typeof value === 'number') return String(value) === wanted;
  if (typeof value === 'string') return hasWord(value, String(wanted));
  if (value === null || typeof value !== 'object') return false;
  return Object.values(value).some((each) => holds(each, wanted));
}

function hasWord(text: string, word: string): boolean {
  return wordIn(text, word) >= 0;
}

/** Each observation once, with the arguments that come from it. Those without arguments are looked at by the person. */
export function evidenceOf(used: Traced['used'], others: readonly Observed[]): readonly PacketEvidence[] {
  const found = new Map<Observed, { readonly paths: string[]; trusted: boolean }>();
  for (const { of, path, trusted } of used) {
    const { paths = [], trusted: before = true } = found.get(of) ?? {};
    found.set(of, { paths: [...paths, path], trusted: before && trusted });
  }
  for (const of of others) if (!found.has(of)) found.set(of, { paths: [], trusted: of.trusted === true });
  return [...found].slice(0, ENTRIES_MAX).map(([of, { paths: shows, trusted }]) => ({
    from: of.from,
    trusted,
    value: shortened(of.value),
    ...(of.args === null ? {} : { args: shortened(of.args) }),
    ...(shows.length === 0 ? {} : { shows: [...new Set(shows)] }),
  }));
}

export function shortened(value: Json): Json {
  if (typeof value === 'string')
    return value.length <= TEXT_MAX
      ? value
      : `${value.slice(0, TEXT_MAX).toWellFormed()}… (${value.length} characters)`;
  if (Array.isArray(value)) return value.map(shortened);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortened(each)]));
}
