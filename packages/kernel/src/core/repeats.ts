/**
 * The loop detector: meters of unit `repeats`. A call is held back if it repeats without a new result in between: so many
 * identical calls among the latest, a block of calls that occurred twice in a row with the same results, so many
 * failures of one tool in a row, or a read that asks for the same words in another order. Only calls of one branch are
 * compared: items of a map, or workers, do not repeat each other. The calls and their results are in the state, so the same
 * journal always decides the same.
 */
import { onlyReads } from '../ir/effect-classes.ts';
import { mapTexts, type Json } from '../expr/json.ts';
import type { EffectKey, EventBody, RecentCall, RunState, ThreadId } from '../ir/events.ts';
import type { DoNode, Meter, MeterId } from '../ir/nodes.ts';
import { declaredOf } from './declared.ts';
import { limitOf, meterAt, tripped } from './meters.ts';
import type { Tripped } from './meters.ts';
import type { Program, Visit } from './program.ts';

/** A repeats meter looks no further back than this. */
export const RECENT_MAX = 64;

/** The branch that makes a call. The call itself runs in a branch below it. */
function callerOf(key: EffectKey): ThreadId {
  const thread = key.slice(0, key.lastIndexOf('#'));
  return thread.slice(0, Math.max(0, thread.lastIndexOf(':')));
}

/** The recent calls of the branch that makes this call, the oldest first. */
function recentOf({ recent }: RunState, meter: MeterId, key: EffectKey): readonly RecentCall[] {
  const caller = callerOf(key);
  return (recent[meter] ?? []).filter((call) => callerOf(call.key) === caller);
}

/** The recent calls with one more. Calls of branches that have ended are dropped. */
export function withCall(state: RunState, meter: MeterId, call: RecentCall): readonly RecentCall[] {
  const { recent, threads } = state;
  const own = recentOf(state, meter, call.key);
  const oldest = own.length < RECENT_MAX ? undefined : own[0];
  const isKept = (each: RecentCall): boolean => {
    const caller = callerOf(each.key);
    return each !== oldest && (caller === '' || threads.has(caller));
  };
  return [...(recent[meter] ?? []).filter(isKept), call];
}

/** The recent calls without those of the branch that makes this call. */
export function withoutCalls(state: RunState, meter: MeterId, key: EffectKey): readonly RecentCall[] {
  const own = new Set(recentOf(state, meter, key));
  return (state.recent[meter] ?? []).filter((call) => !own.has(call));
}

export function tripOnRepeat(visit: Visit<DoNode>, call: WatchedCall): Tripped | null {
  for (const id of visit.node.charges ?? []) {
    const meter = meterAt(visit.program, id);
    if (meter.unit !== 'repeats' || meter.max === null) continue;
    const repeated = repetitionIn(visit, id, meter, call);
    if (repeated !== null) return { ...tripped(visit, id, meter, 'limit', 0, 1), repeated };
  }
  return null;
}

interface WatchedCall {
  readonly name: string;
  readonly print: string;
  readonly words: string | undefined;
}

function repetitionIn(
  { program, state, thread }: Visit,
  id: MeterId,
  meter: Meter,
  call: WatchedCall,
): NonNullable<Tripped['repeated']> | null {
  const recent = recentOf(state, id, `${thread.id}#${thread.acts}`);
  const { name, print } = call;
  if (meter.words === true)
    return isRephrased(program, recent.slice(1 - (meter.window ?? 2)), call)
      ? { rule: 'rephrased', calls: [name] }
      : null;
  const news = newsIn(program, recent);
  if (isIdentical(recent, news, print, (meter.window ?? 1) - 1, limitOf(state, id, meter)))
    return { rule: 'identical', calls: [name] };
  const block = repeatedBlock(recent, print, meter.cycle ?? 1);
  if (block !== null) return { rule: 'cycle', calls: block.map((each) => each.name) };
  return failuresOf(recent, news, name) >= (meter.failures ?? Infinity) ? { rule: 'failures', calls: [name] } : null;
}

/** For each call: true if its result was new, or if it was the first successful write of its kind. */
function newsIn({ flow }: Program, recent: readonly RecentCall[]): readonly boolean[] {
  const results = new Set<string>();
  const prints = new Set<string>();
  return recent.map(({ name, print, result, ok }) => {
    const writes = !onlyReads(flow.tools[name]?.effect ?? 'read');
    const isNews = ok === true && (!results.has(result ?? '') || (writes && !prints.has(print)));
    if (ok === true) results.add(result ?? '');
    prints.add(print);
    return isNews;
  });
}

/** More than `max` identical calls, this one included, among the last, with nothing new after the first of them. */
function isIdentical(
  recent: readonly RecentCall[],
  news: readonly boolean[],
  print: string,
  before: number,
  max: number,
): boolean {
  let seen = 1;
  for (let index = recent.length - 1; index >= Math.max(0, recent.length - before); index--) {
    if (recent[index]?.print === print) seen += 1;
    if (news[index] === true) break;
  }
  return seen > max;
}

/** The block of two or more calls that occurred twice in a row with the same results, and that this call belongs to. */
function repeatedBlock(recent: readonly RecentCall[], print: string, longest: number): readonly RecentCall[] | null {
  for (let size = 2; size <= longest && 2 * size <= recent.length; size++) {
    const last = recent.slice(-size);
    const before = recent.slice(-2 * size, -size);
    const isRepeated = last.every((call, index) => isSame(call, before[index] as RecentCall));
    if (isRepeated && last.some((call) => call.print === print)) return last;
  }
  return null;
}

function isSame(a: RecentCall, b: RecentCall): boolean {
  return a.print === b.print && a.ok !== null && a.ok === b.ok && a.result === b.result;
}

/** Failures of this tool at the end of the list, with nothing new in between. */
function failuresOf(recent: readonly RecentCall[], news: readonly boolean[], name: string): number {
  let failures = 0;
  for (let index = recent.length - 1; index >= 0; index--) {
    const call = recent[index] as RecentCall;
    if (news[index] === true || (call.name === name && call.ok === true)) break;
    if (call.name === name && call.ok === false) failures += 1;
  }
  return failures;
}

/** A read (only reads have words) that repeats a recent one in another order, with no successful write in between. */
function isRephrased({ flow }: Program, recent: readonly RecentCall[], { name, print, words }: WatchedCall): boolean {
  if (words === undefined) return false;
  const written = recent.findLastIndex(
    (call) => call.ok === true && !onlyReads(flow.tools[call.name]?.effect ?? 'read'),
  );
  return recent.slice(written + 1).some((call) => call.name === name && call.words === words && call.print !== print);
}

type Suspected = Extract<EventBody, { type: 'failure.repeated' }>;

/**
 * This call has just failed as often in a row as a meter allows: with the same arguments and the same error, or as a call of
 * its tool with any arguments.
 */
export function repeatedFailure({ program, state, thread, node }: Visit<DoNode>, key: EffectKey): Suspected | null {
  for (const id of declaredOf(program, node).repeats ?? []) {
    const { sameFailure = Infinity, failures: most } = meterAt(program, id);
    const recent = recentOf(state, id, key);
    const at = recent.findIndex((call) => call.key === key);
    const last = recent[at];
    if (last === undefined || last.ok !== false) continue;
    let failures = 1;
    while (failures <= at && isSame(recent[at - failures] as RecentCall, last)) failures += 1;
    const event = { type: 'failure.repeated', thread: thread.id, node: thread.at, meter: id, tool: last.name } as const;
    if (failures === sameFailure) return { ...event, failures };
    const until = recent.slice(0, at + 1);
    if (most !== undefined && failuresOf(until, newsIn(program, until), last.name) === most)
      return { ...event, failures: most, any: true };
  }
  return null;
}

/** The error as the agent reads it. */
export function adviceOn(message: string, { tool, failures, any }: Suspected): string {
  if (any === true) return `${message} (${tool} failed ${failures} times in a row: try something else)`;
  return `${message} (this call failed ${failures} times in a row with the same error: change its arguments, or try something else)`;
}

/** The input of a call without differences of spelling: key order, white space, `"2"` for `2`, and fields to ignore. */
export function normalised(value: Json, ignored: ReadonlySet<string>): Json {
  if (typeof value === 'string') {
    const text = value.trim().replaceAll(/\s+/g, ' ');
    return NUMBER.test(text) ? Number(text) : text;
  }
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((each) => normalised(each, ignored));
  const entries = Object.entries(value).filter(([key]) => !ignored.has(key));
  return Object.fromEntries(entries.map(([key, each]) => [key, normalised(each, ignored)]));
}
const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/;

/** The value with each text of at least four different words as a list of its words. Null if it has no such text. */
export function inWords(value: Json): Json | null {
  let found = false;
  const result = mapTexts(value, (text) => {
    const words = [...new Set(text.toLowerCase().match(WORD))].sort();
    if (words.length < WORDS_MIN) return text;
    found = true;
    return words;
  });
  return found ? result : null;
}
const WORDS_MIN = 4;
/** Letters and digits, and signs that change the meaning of a query. Quotes and punctuation do not count. */
const WORD = /[\p{L}\p{N}]+|[<>=!+*/%|&]|(?<!\S)-(?=\S)/gu;

/** A short print of a result, to compare results with each other. Not for security. */
export function printOf(value: Json): string {
  const text = JSON.stringify(value);
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  return `${(a >>> 0).toString(36)}${(b >>> 0).toString(36)}${text.length.toString(36)}`;
}
