/**
 * The stored form of single events. Frequent events have a short positional form; rare ones are plain JSON. Fields that
 * follow from the context (seq, time, the thread inside a key) are not stored.
 */
import { parseJson } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Event, EventBody, Recorded, Settled, WriteRecord } from '@sluice-internal/kernel/ir';

/** Turns a value into JSON text. Big values become references. */
export type PackValue = (value: Json) => string;
export type UnpackValue = (stored: Json) => Json;

export function encodeEvent(event: Event, pack: PackValue): string {
  switch (event.type) {
    case 'effect.requested':
      // The key of such a call need not begin with its thread.
      return event.settles === undefined ? encodeRequested(event, pack) : plain(event);
    case 'effect.settled':
      return encodeSettled(event, pack);
    case 'effect.judged':
      return event.verdict === 'accepted' ? `["j",${quote(event.key)}]` : plain(event);
    case 'slots.written':
      return encodeWritten(event, pack);
    case 'route.picked': {
      const { thread, node, index, to, charge } = event;
      return `["p",${quote(thread)},${quote(node)},${index},${quote(to)}${optional(charge)}]`;
    }
    case 'thread.ended': {
      const { thread, node, state, code, output, charge } = event;
      if (node === undefined) return encodeEnding(event, pack);
      return `["e",${quote(thread)},"${state}","${code}",${encodeRecorded(output, pack)},${quote(node)}${optional(charge)}]`;
    }
    case 'run.started':
      return `["b",${pack(event.input)},${plain({ ...event, input: null })}]`;
    case 'run.ended':
    case 'undo.started':
      return encodeEnding(event, pack);
    case 'thread.forked':
      if ('heads' in event.branches) return plain(event);
      return `["l",${encodeRecorded(event.branches.each, pack)},${plain({ ...event, branches: { ...event.branches, each: { value: null } } })}]`;
    default:
      return plain(event);
  }
}

type EventOf<Type extends Event['type']> = Extract<Event, { type: Type }>;

function encodeRequested(event: EventOf<'effect.requested'>, pack: PackValue): string {
  const { key, node, kind, name, input, deadline, charge, undo } = event;
  const more = optionalFieldsOf(event);
  const lead = `["r",${quote(key)},${quote(node)},"${kind}",${quote(name)},"${input}",${deadline === null ? 'null' : deadline - event.at}`;
  if (more === null && undo === undefined) return `${lead}${optional(charge)}]`;
  const undone = undo === undefined ? undefined : { ...undo, args: parseJson(pack(undo.args)) };
  return `${lead},${JSON.stringify(charge ?? null)},${JSON.stringify({ ...more, undo: undone })}]`;
}

function encodeSettled({ key, attempt, result }: EventOf<'effect.settled'>, pack: PackValue): string {
  const used = optional(result.used);
  if (result.ok && result.unsent === true) return `["s",${quote(key)},${attempt},${pack(result.value)},null,1]`;
  if (result.ok) return `["s",${quote(key)},${attempt},${pack(result.value)}${used}]`;
  return `["f",${quote(key)},${attempt},${JSON.stringify(result.error)}${used}]`;
}

function encodeWritten(event: EventOf<'slots.written'>, pack: PackValue): string {
  const { thread, node, writes, to, charge } = event;
  let list = '';
  for (const write of writes) list += (list === '' ? '' : ',') + encodeWrite(write, pack);
  return `["w",${quote(thread)},${quote(node)},[${list}],${quote(to)}${optional(charge)}]`;
}

function encodeEnding(event: EventOf<'thread.ended' | 'run.ended' | 'undo.started'>, pack: PackValue): string {
  return `["o",${encodeRecorded(event.output, pack)},${plain({ ...event, output: { value: null } })}]`;
}

/** The last field of a positional form, if it is there. */
function optional(value: unknown): string {
  return value === undefined ? '' : `,${JSON.stringify(value)}`;
}

/** The mark of an effect, or what the call verifies. */
function deedIn({ mark, verifies }: Extract<EventBody, { type: 'effect.requested' }>): string | undefined {
  return mark ?? verifies;
}

/** The optional fields of a request; null if it has none. */
export function optionalFieldsOf(event: Extract<EventBody, { type: 'effect.requested' }>): object | null {
  const {
    holds,
    watched,
    turns,
    print,
    words,
    notBefore,
    paced,
    timed,
    question,
    until,
    signal,
    ends,
    mark,
    verifies,
    control,
    again,
  } = event;
  // `??` over all of them: most requests have none, and this runs with every step.
  const some =
    holds ??
    watched ??
    turns ??
    print ??
    words ??
    notBefore ??
    paced ??
    timed ??
    question ??
    until ??
    signal ??
    ends ??
    deedIn(event) ??
    control;
  if (some === undefined) return null;
  return {
    holds,
    watched,
    turns,
    print,
    words,
    notBefore,
    paced,
    timed,
    question,
    until,
    signal,
    ends,
    mark,
    verifies,
    control,
    again,
  };
}

/** The tag determines the types of the fields. Only `encodeEvent` writes them. */
type Positional = [string, never, never, never, never, never, never, never?, { undo?: { args: Json } }?];

export function decodeEvent(stored: Json, at: number, unpack: UnpackValue): EventBody {
  if (!Array.isArray(stored)) return stored as unknown as EventBody;
  const [tag, a, b, c, d, e, f, g, h] = stored as unknown as Positional;
  switch (tag) {
    case 'r': {
      const undo = h?.undo === undefined ? {} : { undo: { ...h.undo, args: unpack(h.undo.args) } };
      const deadline = f === null ? null : (f as number) + at;
      return {
        type: 'effect.requested',
        thread: threadIn(a),
        key: a,
        node: b,
        kind: c,
        name: d,
        input: e,
        deadline,
        ...charged(g),
        ...h,
        ...undo,
      } as EventBody;
    }
    case 's':
      return { type: 'effect.settled', key: a, attempt: b, result: withUsed(accepted(unpack(c), e), d) };
    case 'f':
      return { type: 'effect.settled', key: a, attempt: b, result: withUsed({ ok: false, error: c }, d) };
    case 'j':
      return { type: 'effect.judged', key: a, verdict: 'accepted' };
    case 'w':
      return {
        type: 'slots.written',
        thread: a,
        node: b,
        writes: (c as Json[][]).map((write) => decodeWrite(write, unpack)),
        to: d,
        ...charged(e),
      };
    case 'p':
      return { type: 'route.picked', thread: a, node: b, index: c, to: d, ...charged(e) };
    case 'e':
      return {
        type: 'thread.ended',
        thread: a,
        state: b,
        code: c,
        output: decodeRecorded(d, unpack),
        node: e,
        ...charged(f),
      };
    case 'b':
      return { ...(b as EventBody), input: unpack(a) } as EventBody;
    case 'o':
      return { ...(b as EventBody), output: decodeRecorded(a, unpack) } as EventBody;
    case 'l':
      return { ...(b as Forked), branches: { ...(b as Forked).branches, each: decodeRecorded(a, unpack) } };
    default:
      throw new Error(`the journal has an event form \`${String(tag)}\` that this release does not know`);
  }
}

type Forked = Extract<EventBody, { type: 'thread.forked' }>;

const MODES = ['set', 'append', 'reply', 'object', 'object_text'] as const;

function encodeWrite({ slot, mode, from, path }: WriteRecord, pack: PackValue): string {
  const lead = `[${quote(slot)},${MODES.indexOf(mode)},${encodeRecorded(from, pack)}`;
  return path === undefined ? `${lead}]` : `${lead},${JSON.stringify(path)}]`;
}

function decodeWrite(stored: Json[], unpack: UnpackValue): WriteRecord {
  const [slot, mode, from, path] = stored as [string, number, Json[], string[] | undefined];
  const value = { mode: MODES[mode] ?? 'set', from: decodeRecorded(from, unpack) };
  // The order of the fields is that of the core: the hash of an event covers its text.
  return path === undefined ? { slot, ...value } : { slot, path, ...value };
}

function encodeRecorded(recorded: Recorded, pack: PackValue): string {
  if ('ref' in recorded) return JSON.stringify([0, ...recorded.ref]);
  if ('value' in recorded) return `[1,${pack(recorded.value)}]`;
  const fields = Object.entries(recorded.object).map(
    ([field, each]) => `${JSON.stringify(field)}:${encodeRecorded(each, pack)}`,
  );
  return `[2,{${fields.join(',')}}]`;
}

function decodeRecorded(stored: Json[], unpack: UnpackValue): Recorded {
  if (stored[0] === 0) return { ref: stored.slice(1) as string[] };
  if (stored[0] === 1) return { value: unpack(stored[1] ?? null) };
  const fields = Object.entries(stored[1] as { [field: string]: Json[] }).map(([field, each]) => [
    field,
    decodeRecorded(each, unpack),
  ]);
  return { object: Object.fromEntries(fields) as { [field: string]: Recorded } };
}

function plain(event: EventBody): string {
  return JSON.stringify({ ...event, seq: undefined, at: undefined });
}

function withUsed(result: Settled, used: Settled['used'] | null): Settled {
  return used === undefined || used === null ? result : { ...result, used };
}

function accepted(value: Json, unsent: 1 | undefined): Settled {
  return unsent === 1 ? { ok: true, value, unsent: true } : { ok: true, value };
}

function charged(charge: readonly string[] | null | undefined): { charge?: readonly string[] } {
  return charge === undefined || charge === null ? {} : { charge };
}

export function threadIn(key: string): string {
  return key.slice(0, key.lastIndexOf('#'));
}

/** Most names need no escaping, and `JSON.stringify` is the slow part of a small event. */
export function quote(text: string): string {
  return SIMPLE.test(text) ? `"${text}"` : JSON.stringify(text);
}
const SIMPLE = /^[\w#:.\- /]*$/;
