/** From a random plan to the document that an author would write: nodes with ids, routes, error routes and caps. */
import type { Json } from '@sluice-internal/kernel/expr';
import type {
  Block,
  DocumentPlan,
  FlowPlan,
  LoopPlan,
  MapPlan,
  ParallelPlan,
  Stmt,
  ToolPlan,
  WaitPlan,
} from './document-plan.ts';

export interface AuthoredNode {
  readonly id: string;
  readonly type: 'tool' | 'agent' | 'wait' | 'set' | 'map' | 'parallel' | 'flow' | 'fail';
  readonly routes?: readonly { readonly when?: string; readonly to: string }[];
  readonly on_error?: readonly { readonly match?: string; readonly default?: true; readonly to: string }[];
  readonly retry?: { readonly max_attempts: number; readonly backoff_ms: number; readonly match?: string };
  readonly timeout?: number;
  readonly max_visits?: number;
  readonly on_exhausted?: string;
  readonly [field: string]: unknown;
}
export interface AuthoredFlow {
  readonly id?: string;
  readonly entry: string;
  readonly max_iterations?: number;
  readonly nodes: readonly AuthoredNode[];
}
export interface AuthoredDocument {
  readonly agents: readonly object[];
  readonly tools: object;
  readonly flows?: { readonly [id: string]: AuthoredFlow };
  readonly flow: AuthoredFlow;
}
export interface Authored {
  readonly document: AuthoredDocument;
  readonly input: { readonly [list: string]: readonly number[] };
  /**
   * Nothing but the written caps bounds it: no share of a budget, which can end a path before its calls are made, and no join
   * that stops branches at a moment that depends on time.
   */
  readonly free: boolean;
  /** Nothing runs at the same time, so that the order of all calls is fixed. */
  readonly ordered: boolean;
}

export function authoredOf(plan: DocumentPlan): Authored {
  return new Author(plan).write();
}

/** A moment after the start of a run. The clocks of these tests begin at 0 or at 1,000 seconds. */
const SOON = '1970-01-01T00:16:40.400Z';

interface Place {
  readonly nodes: AuthoredNode[];
  readonly depth: number;
  /** How to read the numbers of the items around, by the name of the item. They tell the calls of items apart. */
  readonly marks: { readonly [item: string]: string };
  /** The item whose value can be read here. */
  readonly item: string | null;
  /** Items run at the same time, so that the order of visits is not fixed. */
  readonly together: boolean;
  /** A node around ends a wait that nothing else ends. */
  readonly bounded: boolean;
  /** The nodes here can be visited again. */
  readonly looped: boolean;
  /** The sub-flow here can begin again. Its limits then hold for all beginnings together, which the model does not describe. */
  readonly repeated: boolean;
  /** A share of a budget is used here. Branches would use it up in an order that depends on time. */
  readonly shared: boolean;
  /** The result of the call that came before. */
  before: string | null;
}

class Author {
  readonly #plan: DocumentPlan;
  readonly #flows: { [id: string]: AuthoredFlow } = {};
  readonly #input: { [list: string]: readonly number[] } = {};
  #count = 0;
  #free = true;
  #ordered: boolean;

  constructor(plan: DocumentPlan) {
    this.#plan = plan;
    this.#ordered = plan.sequential;
  }

  write(): Authored {
    const { body, maxIterations } = this.#plan;
    const place: Place = {
      nodes: [],
      depth: 0,
      marks: {},
      item: null,
      together: false,
      bounded: false,
      looped: false,
      repeated: false,
      shared: false,
      before: null,
    };
    const entry = this.#block(body, 'end', place);
    const hasFlows = Object.keys(this.#flows).length > 0;
    const hasCap = maxIterations > 0 && this.#ordered;
    const document = {
      agents: [{ id: 'bot', instructions: 'Go on.' }],
      tools: { 't.x': { effect: 'read', timeout: 2 } },
      ...(hasFlows ? { flows: this.#flows } : {}),
      flow: { id: 'random', entry, ...(hasCap ? { max_iterations: maxIterations } : {}), nodes: place.nodes },
    };
    return { document, input: this.#input, free: this.#free, ordered: this.#ordered };
  }

  /** Ids are given in the order of the block, so that a node can read the one before it. */
  #block(block: Block, next: string, place: Place): string {
    const heads = block.map(() => this.#id());
    for (const [index, stmt] of block.entries())
      this.#statement(stmt, heads[index] as string, heads[index + 1] ?? next, place);
    return heads[0] ?? next;
  }

  #id(): string {
    return `n${this.#count++}`;
  }

  #statement(stmt: Stmt, id: string, next: string, place: Place): void {
    switch (stmt.is) {
      case 'tool':
        return this.#tool(stmt, id, next, place);
      case 'wait':
        return this.#wait(stmt, id, next, place);
      case 'set':
        place.nodes.push({ id, type: 'set', values: { a: 1, b: this.#read(place) }, routes: [{ to: next }] });
        return undefined;
      case 'map':
        return this.#map(stmt, id, next, place);
      case 'parallel':
        return this.#parallel(stmt, id, next, place);
      case 'flow':
        return this.#flow(stmt, id, next, place);
      case 'loop':
        return this.#loop(stmt, id, next, place);
    }
  }

  #read({ before, item }: Place): Json {
    return before !== null ? `{{${before}}}` : item === null ? 7 : `{{${item}}}`;
  }

  #fail(place: Place, code: string): string {
    const id = this.#id();
    place.nodes.push({ id, type: 'fail', code, message: `failed at ${id}` });
    return id;
  }

  #tool(plan: ToolPlan, id: string, next: string, place: Place, more: object = {}): void {
    const { agent, guard, timed } = plan;
    const caught = guard === null ? null : guard === 'end' ? 'end' : this.#fail(place, 'IMPOSSIBLE');
    const result = `${id}.${agent ? 'output' : 'result'}.v`;
    const params = { at: id, ...place.marks, read: this.#read(place) };
    place.nodes.push({
      id,
      ...(agent ? { type: 'agent', agent: 'bot', input: params } : { type: 'tool', tool: 't.x', params }),
      ...tried(plan, next),
      // The time of a model call is longer than that of the nodes around it.
      ...(timed || agent ? { timeout: 1 } : {}),
      routes: [...(caught === null ? [] : [{ when: `${result} == 2`, to: caught }]), { to: next }],
      ...more,
    });
    place.before = result;
  }

  #wait(plan: WaitPlan, id: string, next: string, place: Place): void {
    const isSignal = plan.kind === 'signal';
    const endless = place.bounded && !place.together && !plan.timed;
    const timeout = isSignal && !endless ? { timeout: 1, ...(plan.late ? { on_timeout: next } : {}) } : {};
    const name = ['go', id, ...Object.values(place.marks)].join(' ');
    place.nodes.push({
      id,
      type: 'wait',
      ...(isSignal ? { signal: name } : plan.kind === 'until' ? { until: SOON } : { for: 0.25 }),
      ...tried(plan, next),
      ...timeout,
      routes: [{ to: next }],
    });
  }

  #map(plan: MapPlan, id: string, next: string, place: Place): void {
    const { items: count, written, spare, timed, body, policy } = plan;
    const item = `i${Object.keys(place.marks).length}`;
    const list = Array.from({ length: count }, (_, index) => index + 10);
    if (!written) this.#input[id] = list;
    const width = this.#plan.sequential ? 1 : plan.width;
    const together = place.together || width > 1;
    const inner: Place = {
      ...place,
      depth: place.depth + 1,
      marks: { ...place.marks, [item]: `{{${item}_index}}` },
      item,
      together,
      bounded: place.bounded || timed,
      looped: true,
    };
    // An item that fails would stop the others at a moment that depends on time.
    const onItemError = together && policy === 'fail' ? 'collect' : policy;
    const after = onItemError === 'collect' && place.depth > 0 ? this.#withoutWords(next, place) : next;
    place.nodes.push({
      id,
      type: 'map',
      over: written ? list : `{{event.payload.${id}}}`,
      as: item,
      width,
      ...(together || place.repeated ? {} : { max_items: Math.max(1, count + spare) }),
      on_item_error: onItemError,
      do: this.#block(body, 'end', inner),
      ...tried(plan, after),
      ...(timed ? { timeout: patience(place.depth) } : {}),
      routes: [{ to: after }],
    });
  }

  /** Collected errors have messages, whose words are not described. No node of the path around may read them. */
  #withoutWords(next: string, place: Place): string {
    const id = this.#id();
    place.nodes.push({ id, type: 'set', values: { a: 4 }, routes: [{ to: next }] });
    return id;
  }

  /** With a share of a budget the branches follow one another. */
  #parallel(plan: ParallelPlan, id: string, next: string, place: Place): void {
    if (place.shared) {
      place.nodes.push({
        id,
        type: 'set',
        values: { a: 3 },
        routes: [{ to: this.#block(plan.branches.flat(), next, place) }],
      });
      return;
    }
    const { branches, join, timed } = plan;
    this.#ordered = false;
    if (join !== 'all') this.#free = false;
    const inner = (): Place => ({ ...place, depth: place.depth + 1, together: true });
    place.nodes.push({
      id,
      type: 'parallel',
      branches: branches.map((branch) => ({ to: this.#block(branch, 'end', inner()) })),
      join: { type: join, ...(join === 'count' ? { count: 2 } : {}), timeout: patience(place.depth) / 2 },
      ...tried(plan, next),
      ...(timed ? { timeout: patience(place.depth) } : {}),
      routes: [{ to: next }],
    });
    place.before = `${id}.output`;
  }

  #flow(plan: FlowPlan, id: string, next: string, place: Place): void {
    const { timed, budget, body } = plan;
    const nodes: AuthoredNode[] = [];
    const names = Object.keys(place.marks);
    const known = new Set(Object.keys(this.#input));
    // Items that run at once would use up a shared budget in an order that depends on time.
    const limit = this.#plan.sequential && !place.together ? budget : null;
    const inner: Place = {
      nodes,
      depth: place.depth + 1,
      marks: Object.fromEntries(names.map((name) => [name, `{{event.payload.${name}}}`])),
      item: null,
      together: place.together,
      bounded: place.bounded || timed,
      looped: false,
      repeated: place.repeated || place.looped || plan.retry !== null,
      shared: place.shared || limit !== null,
      before: null,
    };
    if (limit !== null) this.#free = false;
    const entry = this.#block(body, 'end', inner);
    this.#flows[`f_${id}`] = { entry, nodes };
    const lists = Object.keys(this.#input).filter((list) => !known.has(list));
    const given = Object.fromEntries(lists.map((list) => [list, `{{event.payload.${list}}}`]));
    place.nodes.push({
      id,
      type: 'flow',
      flow: `f_${id}`,
      input: { ...place.marks, ...given },
      ...(limit === null ? {} : { budget: { tool_calls: limit } }),
      ...tried(plan, next),
      ...(timed ? { timeout: patience(place.depth) } : {}),
      routes: [{ to: next }],
    });
  }

  /** A head that bounds its visits, a body, and a call whose result 1 leads back to the head. */
  #loop({ visits, over, body }: LoopPlan, id: string, next: string, place: Place): void {
    const last = this.#id();
    const first = this.#block(body, last, { ...place, looped: true });
    const exhausted = over === 'fail' ? this.#fail(place, 'REVIEW_REQUIRED') : over === 'next' ? next : null;
    // Visits of items that run at once are counted in an order that depends on time.
    const cap = place.together || place.repeated ? 50 : visits;
    place.nodes.push({
      id,
      type: 'set',
      values: { a: 2 },
      max_visits: cap,
      ...(exhausted === null ? {} : { on_exhausted: exhausted }),
      routes: [{ to: first }],
    });
    this.#tool(
      { is: 'tool', agent: false, retry: null, timed: false, rescue: 'none', guard: null },
      last,
      next,
      place,
      {
        routes: [{ when: `${last}.result.v == 1`, to: id }, { to: next }],
      },
    );
  }
}

function tried({ retry, rescue }: Pick<ToolPlan, 'retry' | 'rescue'>, next: string): Partial<AuthoredNode> {
  return {
    ...(retry === null
      ? {}
      : {
          retry: {
            max_attempts: retry.attempts,
            backoff_ms: 5,
            ...(retry.match === null ? {} : { match: retry.match }),
          },
        }),
    ...(rescue === 'none'
      ? {}
      : { on_error: [rescue === 'all' ? { default: true as const, to: next } : { match: 'Odd', to: next }] }),
  };
}

/** Seconds: longer than all inner waits together, so that it is the innermost node with a timeout that gives up. */
function patience(depth: number): number {
  return 60 * 100 ** Math.max(0, 2 - depth);
}
