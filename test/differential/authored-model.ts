/**
 * A second implementation of the flow notation. It runs the nodes of a document as `docs/dialects/flow.md` describes them, and
 * shares no code with the compiler and the engine. Items of a map and branches are walked one after the other.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { AuthoredDocument, AuthoredFlow, AuthoredNode } from './documents.ts';

export interface Made {
  /** The name of the node as in `path`. */
  readonly node: string;
  readonly params: Json;
}
export interface Surroundings {
  /** The result of one attempt of a call. */
  call(made: Made): number | 'odd' | 'even' | 'silent';
  /** The data of a signal; undefined if it never comes. */
  signal(name: string): Json | undefined;
}
export interface Expected {
  readonly state: 'completed' | 'failed';
  readonly code: string;
  readonly output: Json;
  readonly path: readonly string[];
  readonly calls: readonly Made[];
}

export function expectedOf(document: AuthoredDocument, input: Json, surroundings: Surroundings): Expected {
  const model = new Model(document, surroundings);
  const { path, calls } = model;
  try {
    const thread: Thread = { slots: { event: { payload: input } }, out: null, partial: false, capped: false };
    model.walk(document.flow, document.flow.entry, thread, '');
    const code = thread.capped ? 'BUDGET_EXHAUSTED' : thread.partial ? 'PARTIAL_SUCCESS' : 'SUCCESS';
    return { state: 'completed', code, output: thread.out, path, calls };
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause;
    return { state: 'failed', code: cause.code, output: null, path, calls };
  }
}

type Slots = { [name: string]: Json };
interface Thread {
  slots: Slots;
  out: Json;
  partial: boolean;
  capped: boolean;
}

class Fault extends Error {
  readonly type: string;
  readonly code: string;
  constructor(type: string, message: string, code: string) {
    super(message);
    this.type = type;
    this.code = code;
  }
}
/** A wait that nothing ends but the timeout of a node around it. */
class Stuck extends Error {}

const faults = new Map<string, Fault>();

/** Equal faults are one object: a new error costs more than the rest of a step, because it records the stack. */
function faultOf(type: string, message: string, code: string): Fault {
  const key = `${type} ${code} ${message}`;
  const fault = faults.get(key) ?? new Fault(type, message, code);
  faults.set(key, fault);
  return fault;
}

const FAULTS = {
  odd: faultOf('OddError', 'odd', 'UNAVAILABLE_DEP'),
  even: faultOf('EvenError', 'even', 'VALIDATION_FAIL'),
  silent: faultOf('TimeoutError', 'late', 'TIMEOUT'),
};
const STUCK = new Stuck();

class Model {
  readonly path: string[] = [];
  readonly calls: Made[] = [];
  readonly #document: AuthoredDocument;
  readonly #surroundings: Surroundings;
  readonly #counts = new Map<string, number>();

  constructor(document: AuthoredDocument, surroundings: Surroundings) {
    this.#document = document;
    this.#surroundings = surroundings;
  }

  /** Walks from a node to the end of the path. A failure that no node takes is thrown. */
  walk(flow: AuthoredFlow, start: string, thread: Thread, prefix: string): void {
    for (let at = start; at !== 'end';) {
      const node = flow.nodes.find(({ id }) => id === at) as AuthoredNode;
      const name = `${prefix}${at}`;
      const isOver = this.#isOver('all nodes', flow.max_iterations);
      if (isOver || this.#isOver(name, node.max_visits)) {
        at = isOver ? 'end' : (node.on_exhausted ?? 'end');
        thread.capped ||= at === 'end';
        continue;
      }
      this.#count('all nodes', flow.max_iterations);
      this.#count(name, node.max_visits);
      this.path.push(name);
      at = this.#step(flow, node, thread, name);
    }
  }

  #isOver(what: string, most = Infinity): boolean {
    return (this.#counts.get(what) ?? 0) >= most;
  }

  #count(what: string, most: number | undefined): void {
    if (most !== undefined) this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  #step(flow: AuthoredFlow, node: AuthoredNode, thread: Thread, name: string): string {
    try {
      const { slot, out } = this.#tried(flow, node, thread, name);
      thread.slots = { ...thread.slots, [node.id]: { ...(thread.slots[node.id] as Slots | undefined), ...slot } };
      thread.out = out;
    } catch (cause) {
      if (!(cause instanceof Fault) || node.type === 'fail') throw cause;
      if (node['on_timeout'] !== undefined && cause.type === 'TimeoutError') return node['on_timeout'] as string;
      const taken = node.on_error?.find((each) => each.default === true || takes(each.match, cause));
      if (taken === undefined) throw cause;
      thread.partial ||= taken.to === 'end';
      return taken.to;
    }
    return node.routes?.find(({ when }) => when === undefined || holds(when, thread.slots))?.to ?? 'end';
  }

  #tried(flow: AuthoredFlow, node: AuthoredNode, thread: Thread, name: string): Left {
    for (let left = node.retry?.max_attempts ?? 1; ; left--) {
      const attempt = { ...thread };
      try {
        const done = this.#done(flow, node, attempt, name);
        leave(thread, attempt);
        return done;
      } catch (thrown) {
        if (thrown instanceof Fault) leave(thread, attempt);
        const cause = thrown instanceof Stuck && node.timeout !== undefined ? FAULTS.silent : thrown;
        const again = left > 1 && cause instanceof Fault && cause.code !== 'BUDGET_EXHAUSTED';
        if (again && takes(node.retry?.match, cause)) continue;
        throw cause instanceof Fault && isCall(node)
          ? afterAttempts(cause, (node.retry?.max_attempts ?? 1) - left)
          : cause;
      }
    }
  }

  #done(flow: AuthoredFlow, node: AuthoredNode, thread: Thread, name: string): Left {
    switch (node.type) {
      case 'fail':
        throw faultOf('FlowError', node['message'] as string, node['code'] as string);
      case 'set': {
        const values = filled(node['values'] as Json, thread.slots) as Slots;
        return { slot: values, out: values };
      }
      case 'tool': {
        const result = this.#called(name, node['params'] as Json, thread);
        return { slot: { result }, out: result };
      }
      case 'agent': {
        const output = this.#called(name, node['input'] as Json, thread);
        return { slot: { output }, out: output };
      }
      case 'wait': {
        if (node['signal'] === undefined) return { slot: { data: null }, out: null };
        const data = this.#surroundings.signal(String(filled(node['signal'] as string, thread.slots)));
        if (data === undefined) throw STUCK;
        return { slot: { data }, out: data };
      }
      case 'flow': {
        const inner: Thread = {
          ...thread,
          slots: { event: { payload: filled(node['input'] as Json, thread.slots) } },
          out: null,
        };
        const sub = this.#document.flows?.[node['flow'] as string] as AuthoredFlow;
        this.#walkInner(sub, sub.entry, { inner, outer: thread, prefix: `${name}/` });
        return { slot: { output: inner.out }, out: inner.out };
      }
      case 'parallel': {
        const output = this.#branches(flow, node, thread, name);
        return { slot: { output }, out: output };
      }
      case 'map': {
        const results = this.#items(flow, node, thread, name);
        return { slot: { results }, out: results };
      }
    }
  }

  #called(node: string, params: Json, { slots }: Thread): Json {
    const made = { node, params: filled(params, slots) };
    this.calls.push(made);
    const result = this.#surroundings.call(made);
    if (typeof result !== 'number') throw FAULTS[result];
    return { v: result };
  }

  /** A path that ended early marks the run, also if the part around it failed later. A part that was given up does not. */
  #walkInner(flow: AuthoredFlow, start: string, { inner, outer, prefix }: Inner): void {
    try {
      this.walk(flow, start, inner, prefix);
    } catch (cause) {
      if (cause instanceof Fault) mark(outer, inner);
      throw cause;
    }
    mark(outer, inner);
  }

  /** The join waits for all. Every branch is walked to its end, also if an earlier one failed. */
  #branches(flow: AuthoredFlow, node: AuthoredNode, thread: Thread, name: string): Json {
    const output: Slots = {};
    const failures: [string, Fault][] = [];
    const { slots } = thread;
    const prefix = name.slice(0, name.lastIndexOf('/') + 1);
    const before = { ...thread };
    for (const { to } of node['branches'] as readonly { readonly to: string }[]) {
      const inner: Thread = { ...before, slots, out: null };
      try {
        this.#walkInner(flow, to, { inner, outer: thread, prefix });
        output[to] = inner.out;
      } catch (cause) {
        if (!(cause instanceof Fault)) throw cause;
        failures.push([to, cause]);
      }
      thread.slots = { ...thread.slots, ...changed(inner.slots, slots) };
    }
    const first = failures[0]?.[1];
    if (first === undefined) return output;
    const message = failures.map(([to, fault]) => `${to}: ${fault.type}: ${fault.message}`).join('; ');
    throw faultOf(first.type, message, first.code);
  }

  #items(flow: AuthoredFlow, node: AuthoredNode, thread: Thread, name: string): Json[] {
    const results: Json[] = [];
    const items = filled(node['over'] as Json, thread.slots) as Json[];
    const as = node['as'] as string;
    const before = { ...thread };
    for (const [index, item] of items.entries()) {
      const inner: Thread = {
        ...before,
        slots: { ...thread.slots, [as]: item, [`${as}_index`]: index },
        out: null,
      };
      try {
        const most = node['max_items'] as number | undefined;
        if (this.#isOver(`items of ${name}`, most))
          throw faultOf('ItemsError', `max_items of ${name} is ${most}`, 'BUDGET_EXHAUSTED');
        this.#count(`items of ${name}`, most);
        this.#walkInner(flow, node['do'] as string, { inner, outer: thread, prefix: `${name}/` });
      } catch (cause) {
        if (!(cause instanceof Fault) || node['on_item_error'] === 'fail') throw cause;
        if (node['on_item_error'] === 'skip') thread.partial = true;
        else results.push({ error: { type: cause.type, message: cause.message } });
        continue;
      }
      results.push(inner.out);
    }
    return results;
  }
}

/** The results of the nodes of a branch can be read after the join. */
function changed(after: Slots, before: Slots): Slots {
  return Object.fromEntries(Object.entries(after).filter(([id, value]) => before[id] !== value));
}

function isCall({ type }: AuthoredNode): boolean {
  return type === 'tool' || type === 'agent' || type === 'wait';
}

/** A call that fails again after a retry is a repeated failure. */
function afterAttempts(fault: Fault, retries: number): Fault {
  return retries === 0 ? fault : faultOf(fault.type, fault.message, 'REPEATED_FAILURE');
}

interface Inner {
  readonly inner: Thread;
  readonly outer: Thread;
  readonly prefix: string;
}

/** After a join, also after a failed one, the results of the branches can be read. */
function leave(thread: Thread, attempt: Thread): void {
  mark(thread, attempt);
  thread.slots = attempt.slots;
}

function mark(thread: Thread, { partial, capped }: Thread): void {
  thread.partial ||= partial;
  thread.capped ||= capped;
}

/** What a node leaves: the fields that are read under its id, and the output of a path that ends after it. */
interface Left {
  readonly slot: Slots;
  readonly out: Json;
}

function takes(match: string | undefined, { type, message }: Fault): boolean {
  return match === undefined || new RegExp(match).test(type) || new RegExp(match).test(message);
}

/** The conditions of the documents compare one path with one number. */
function holds(when: string, slots: Slots): boolean {
  const [path = '', value = ''] = when.split(' == ');
  return read(path, slots) === Number(value);
}

function filled(value: Json, slots: Slots): Json {
  if (Array.isArray(value)) return value.map((each) => filled(each, slots));
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each, slots)]));
  if (typeof value !== 'string') return value;
  const whole = /^\{\{([^}]*)\}\}$/.exec(value);
  if (whole !== null) return read(whole[1] as string, slots);
  return value.replace(/\{\{([^}]*)\}\}/g, (_, path: string) => String(read(path, slots) ?? ''));
}

function read(path: string, slots: Slots): Json {
  const step = (value: Json, key: string): Json => (value as Slots | null)?.[key] ?? null;
  return path.split('.').reduce<Json>(step, slots);
}
