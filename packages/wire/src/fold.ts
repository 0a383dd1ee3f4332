/**
 * The view of a run at one of its events: its nodes with their visits, the routes taken, the bars of its timeline, its meters and
 * its open questions. It follows from public events alone, so the engine, a page and a test compute the same.
 *
 * A view is plain JSON. Who has the view at one event adds later events to it.
 */
import type { InNode, RunEvent, Used } from './events.ts';

export type NodeState = 'idle' | 'running' | 'waiting' | 'done' | 'failed' | 'skipped' | 'undone';

/**
 * One visit of a node.
 * @example
 * const shown = ({ number, state }: Visit) => `visit ${number}, ${state}`;
 */
export interface Visit {
  /** The first visit of a node is 1. */
  readonly number: number;
  readonly branch: string;
  /** The first and the last event of the visit. */
  readonly seq: number;
  readonly endSeq: number | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly state: NodeState;
  readonly retries: number;
  readonly error: string | null;
}

/**
 * A node of a run and its visits.
 * @example
 * const hasTrouble = ({ visits }: NodeView) => visits.trouble.length > 0;
 */
export interface NodeView {
  readonly state: NodeState;
  readonly visits: {
    readonly count: number;
    readonly last: Visit | null;
    /** Visits that failed or were retried: the latest ones. */
    readonly trouble: readonly Visit[];
  };
}

/**
 * A stretch of the timeline. `kind` says what took the time.
 * @example
 * const length = ({ startedAt, endedAt }: Bar) => (endedAt ?? Date.now()) - startedAt;
 */
export interface Bar {
  readonly id: string;
  readonly kind: 'node' | 'model' | 'tool' | 'question' | 'wait' | 'pause' | 'undo';
  readonly node: string;
  readonly branch: string;
  readonly label: string;
  readonly seq: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly failed: boolean;
}

/**
 * An open question. `agreed` is the number of people who agreed so far.
 * @example
 * const isUrgent = ({ expiresAt }: OpenQuestion) => expiresAt !== null && expiresAt - Date.now() < 60_000;
 */
export interface OpenQuestion {
  readonly question: string;
  readonly node: string;
  readonly branch: string;
  readonly message: string;
  readonly payload: string;
  readonly seq: number;
  readonly askedAt: number;
  readonly expiresAt: number | null;
  readonly agreed: number;
}

/**
 * The view of a run at one of its events.
 * @example
 * const open = ({ questions }: RunView) => questions.map(({ message }) => message);
 */
export interface RunView {
  /** The journal event that the view is at; 0 before the first one. */
  readonly seq: number;
  readonly at: number;
  readonly state: 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';
  readonly code: string | null;
  readonly nodes: { readonly [id: string]: NodeView };
  /** How often each route was taken, by `from`, `to` and index: `triage>refund#0`. */
  readonly edges: { readonly [edge: string]: number };
  readonly bars: readonly Bar[];
  readonly meters: { readonly used: Used; readonly held: Used; readonly limit: Used };
  readonly questions: readonly OpenQuestion[];
}

/** The visits with trouble that a view keeps of each node. */
const TROUBLE_MAX = 20;

/** A run that has not begun. */
export function startOfView(nodes: readonly string[] = []): RunView {
  return {
    seq: 0,
    at: 0,
    state: 'pending',
    code: null,
    nodes: Object.fromEntries(nodes.map((id) => [id, IDLE])),
    edges: {},
    bars: [],
    meters: { used: {}, held: {}, limit: {} },
    questions: [],
  };
}

const IDLE: NodeView = { state: 'idle', visits: { count: 0, last: null, trouble: [] } };

/** The view after more events. Those up to the view, and those after `at`, change nothing. */
export function foldEvents(events: Iterable<RunEvent>, from: RunView = startOfView(), at = Infinity): RunView {
  const fold = new Fold(from);
  for (const event of events) if (event.seq > from.seq && event.seq <= at) fold.take(event);
  return fold.view();
}

type Draft<Item> = { -readonly [field in keyof Item]: Item[field] };
type Of<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>;
type Failing = { readonly error: { readonly message: string } | null };

class Fold {
  readonly #from: RunView;
  readonly #nodes = new Map<string, NodeView>();
  readonly #edges = new Map<string, number>();
  readonly #bars = new Map<string, Draft<Bar>>();
  /** The bars that have not ended: few, however long the run is. */
  readonly #running = new Map<string, Draft<Bar>>();
  /** Open visits by node. */
  readonly #open = new Map<string, number>();
  readonly #questions = new Map<string, Draft<OpenQuestion>>();
  /** Open visits by node and branch; the last one ends first. */
  readonly #visits = new Map<string, Draft<Visit>[]>();
  #seq: number;
  #at: number;
  #state: RunView['state'];
  #code: string | null;
  #meters: RunView['meters'];

  constructor(from: RunView) {
    this.#from = from;
    this.#seq = from.seq;
    this.#at = from.at;
    this.#state = from.state;
    this.#code = from.code;
    this.#meters = from.meters;
    for (const [id, node] of Object.entries(from.nodes)) this.#nodes.set(id, node);
    for (const [edge, count] of Object.entries(from.edges)) this.#edges.set(edge, count);
    for (const bar of from.bars) this.#add({ ...bar });
    for (const question of from.questions) this.#questions.set(question.question, { ...question });
    for (const bar of from.bars) if (bar.kind === 'node' && bar.endedAt === null) this.#reopen(bar);
  }

  view(): RunView {
    return {
      ...this.#from,
      seq: this.#seq,
      at: this.#at,
      state: this.#state,
      code: this.#code,
      nodes: Object.fromEntries(this.#nodes),
      edges: Object.fromEntries(this.#edges),
      bars: [...this.#bars.values()].map((bar) => ({ ...bar })),
      meters: this.#meters,
      questions: [...this.#questions.values()].map((question) => ({ ...question })),
    };
  }

  take(event: RunEvent): void {
    this.#seq = event.seq;
    this.#at = event.at;
    (Fold.#how[event.type] as ((fold: Fold, event: RunEvent) => void) | undefined)?.(this, event);
  }

  /** What each type of event changes. Other types change nothing. */
  static readonly #how: { readonly [Type in RunEvent['type']]?: (fold: Fold, event: Of<Type>) => void } = {
    'run.started': (fold) => void (fold.#state = 'running'),
    'run.ended': (fold, { state, code }) => {
      fold.#state = state;
      fold.#code = code;
    },
    'budget.granted': (fold) => {
      fold.#state = 'running';
      fold.#code = null;
    },
    'node.started': (fold, event) => fold.#enter(event),
    'node.finished': (fold, event) => fold.#leave(event, 'done', null),
    'node.failed': (fold, event) => fold.#leave(event, 'failed', event.error?.message ?? null),
    'node.stopped': (fold, event) => fold.#leave(event, 'skipped', null),
    'node.skipped': (fold, { node }) => {
      if (fold.#node(node).visits.count === 0) fold.#set(node, { state: 'skipped' });
    },
    'node.retried': (fold, event) => fold.#retry(event),
    'route.taken': (fold, { from, to, index }) => {
      const edge = `${from}>${to}#${index}`;
      fold.#edges.set(edge, (fold.#edges.get(edge) ?? 0) + 1);
    },
    'budget.changed': (fold, { used, held, limit }) => void (fold.#meters = { used, held, limit }),
    'model.started': (fold, event) => fold.#begin(event, 'model', event.agent, event.call),
    'model.finished': (fold, event) => fold.#close(event, event.call),
    'tool.started': (fold, event) => fold.#begin(event, 'tool', event.tool, `${event.call}#${event.attempt}`),
    'tool.finished': (fold, event) => fold.#closeAttempts(event, event.call, false),
    'tool.failed': (fold, event) => fold.#closeAttempts(event, event.call, true),
    'question.asked': (fold, event) => fold.#ask(event),
    'question.agreed': (fold, { question }) => {
      const open = fold.#questions.get(question);
      if (open !== undefined) open.agreed += 1;
    },
    'question.answered': (fold, event) => fold.#settle(event, event.question),
    'question.closed': (fold, event) => fold.#settle(event, event.question),
    'wait.started': (fold, event) => fold.#begin(event, 'wait', event.signal ?? 'time', waitOf(event)),
    'wait.finished': (fold, event) => fold.#close(event, waitOf(event)),
    'undo.started': (fold, event) => fold.#begin(event, 'undo', event.tool, undoOf(event, event.tool)),
    'undo.finished': (fold, event) => {
      fold.#close(event, undoOf(event, event.tool), event.error !== null);
      if (event.error === null) fold.#set(event.node, { state: 'undone' });
    },
  };

  #settle(event: InNode, question: string): void {
    this.#questions.delete(question);
    this.#close(event, question);
    this.#refresh(event.node);
  }

  #node(id: string): NodeView {
    return this.#nodes.get(id) ?? IDLE;
  }

  #set(id: string, change: { readonly state?: NodeState; readonly visits?: Partial<NodeView['visits']> }): void {
    const node = this.#node(id);
    this.#nodes.set(id, { state: change.state ?? node.state, visits: { ...node.visits, ...change.visits } });
  }

  #enter(event: InNode): void {
    const { node, branch, seq, at } = event;
    const count = this.#node(node).visits.count + 1;
    const visit: Draft<Visit> = {
      ...{ number: count, branch, seq, endSeq: null, startedAt: at, endedAt: null },
      ...{ state: 'running', retries: 0, error: null },
    };
    this.#arrive(place(event), node, visit);
    this.#begin(event, 'node', node, visitId(event, count));
    this.#set(node, { visits: { count, last: { ...visit } } });
    this.#refresh(node);
  }

  #leave(event: InNode, state: 'done' | 'failed' | 'skipped', error: string | null): void {
    const visit = this.#visits.get(place(event))?.pop();
    if (visit === undefined) return;
    this.#open.set(event.node, (this.#open.get(event.node) ?? 1) - 1);
    Object.assign(visit, { state, error, endSeq: event.seq, endedAt: event.at });
    // What the visit left open ends with it.
    const own = visitId(event, visit.number);
    for (const { id, kind } of this.#barsAt(event))
      if (kind !== 'undo' && (kind !== 'node' || id === own)) this.#close(event, id, id === own && state === 'failed');
    this.#record(event.node, visit, state === 'failed');
    this.#set(event.node, { state });
    this.#refresh(event.node);
  }

  #retry(event: InNode & Failing & { readonly attempt: number; readonly delayMs: number }): void {
    const visit = this.#visits.get(place(event))?.at(-1);
    if (visit !== undefined) {
      visit.retries += 1;
      visit.error = event.error?.message ?? null;
      this.#record(event.node, visit, true);
    }
    for (const { id, kind } of this.#barsAt(event)) if (kind === 'tool') this.#close(event, id, true);
    if (event.delayMs === 0) return;
    const id = `${place(event)}|pause|${event.seq}`;
    const { node, branch, seq, at: startedAt } = event;
    const pause = { id, kind: 'pause', node, branch, label: `before attempt ${event.attempt + 1}`, seq } as const;
    this.#add({ ...pause, startedAt, endedAt: startedAt + event.delayMs, failed: false });
  }

  /** Keeps the visit as the last one, and among those with trouble. */
  #record(node: string, visit: Visit, isTrouble: boolean): void {
    const { last, trouble } = this.#node(node).visits;
    const copy = { ...visit };
    const others = trouble.filter(({ number }) => number !== visit.number);
    this.#set(node, {
      visits: {
        last: last === null || last.number <= visit.number ? copy : last,
        trouble: isTrouble || others.length < trouble.length ? [...others, copy].slice(-TROUBLE_MAX) : trouble,
      },
    });
  }

  #ask(event: Of<'question.asked'>): void {
    const { question, node, branch, message, payload, seq, at: askedAt, expiresAt } = event;
    this.#questions.set(question, {
      ...{ question, node, branch, message, payload, seq },
      ...{ askedAt, expiresAt, agreed: 0 },
    });
    this.#begin(event, 'question', message, question);
    this.#refresh(node);
  }

  /** A node with an open visit runs, or waits for a person. */
  #refresh(id: string): void {
    if ((this.#open.get(id) ?? 0) === 0) return;
    const waits = [...this.#questions.values()].some(({ node }) => node === id);
    this.#set(id, { state: waits ? 'waiting' : 'running' });
  }

  #begin(event: InNode, kind: Bar['kind'], label: string, id: string): void {
    const { node, branch, seq, at: startedAt } = event;
    this.#add({ id, kind, node, branch, label, seq, startedAt, endedAt: null, failed: false });
  }

  #add(bar: Draft<Bar>): void {
    this.#bars.set(bar.id, bar);
    if (bar.endedAt === null) this.#running.set(bar.id, bar);
  }

  /** The open bars of this node and branch. */
  #barsAt(event: InNode): readonly Bar[] {
    return [...this.#running.values()].filter((bar) => place(bar) === place(event));
  }

  #arrive(key: string, node: string, visit: Draft<Visit>): void {
    this.#visits.set(key, [...(this.#visits.get(key) ?? []), visit]);
    this.#open.set(node, (this.#open.get(node) ?? 0) + 1);
  }

  #close(event: InNode, id: string, failed = false): void {
    const bar = this.#running.get(id);
    if (bar === undefined) return;
    this.#running.delete(id);
    bar.endedAt = event.at;
    bar.failed = failed;
  }

  #closeAttempts(event: InNode, call: string, failed: boolean): void {
    for (const id of this.#running.keys()) if (id.startsWith(`${call}#`)) this.#close(event, id, failed);
  }

  /** A view that was stored keeps its open visits as bars. */
  #reopen(bar: Bar): void {
    const { last, trouble } = this.#node(bar.node).visits;
    const number = Number(bar.id.slice(bar.id.lastIndexOf('|') + 1));
    const known = [last, ...trouble].find((visit) => visit?.number === number);
    const visit: Draft<Visit> = {
      ...{ number, branch: bar.branch, seq: bar.seq, endSeq: null, startedAt: bar.startedAt, endedAt: null },
      ...{ state: 'running', retries: 0, error: null },
      ...known,
    };
    this.#arrive(place(bar), bar.node, visit);
  }
}

function place({ node, branch }: Pick<InNode, 'node' | 'branch'>): string {
  return `${node}|${branch}`;
}

function visitId(event: InNode, number: number): string {
  return `${place(event)}|${number}`;
}

function waitOf(event: InNode & { readonly signal: string | null }): string {
  return `${place(event)}|wait|${event.signal ?? ''}`;
}

function undoOf(event: InNode, tool: string): string {
  return `${place(event)}|undo|${tool}`;
}
