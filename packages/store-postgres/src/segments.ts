/**
 * Appends as one statement stores them. A segment has appends of one run that follow each other, and is stored whole or not at all. A
 * statement has at most one segment of each run.
 */
import { hash } from 'node:crypto';
import { hasEnded } from '@sluice-internal/kernel/ir';
import type { Append, RunDetails, WorkerId } from '@sluice-internal/engine/ports';

/** In appends. The place of an append in its transaction has 12 bits. */
const SEGMENT_MAX = 4000;
/** Of a statement, in appends and in characters. One segment may be larger. */
const STATEMENT_MAX = 200;
const STATEMENT_CHARACTERS = 4_000_000;

export interface Segment {
  readonly worker: WorkerId;
  readonly appends: readonly Append[];
  /** The places of the appends in their call. */
  readonly at: readonly number[];
  readonly size: number;
}

/** In the order of the appends. An append of a run that does not follow the one before begins another segment. */
export function segmentsOf(worker: WorkerId, appends: readonly Append[]): Segment[] {
  const segments: { worker: WorkerId; appends: Append[]; at: number[]; size: number }[] = [];
  const last = new Map<string, (typeof segments)[number]>();
  appends.forEach((append, index) => {
    const before = last.get(append.run);
    const size = sizeOf(append);
    if (before !== undefined && follows(before.appends, append)) {
      before.appends.push(append);
      before.at.push(index);
      before.size += size;
      return;
    }
    const segment = { worker, appends: [append], at: [index], size };
    last.set(append.run, segment);
    segments.push(segment);
  });
  return segments;
}

function follows(appends: readonly Append[], { after, entry }: Append): boolean {
  const last = appends.at(-1);
  if (last === undefined || appends.length >= SEGMENT_MAX || last.after + last.count !== after) return false;
  return entry?.first === undefined && !(last.entry !== null && hasEnded(last.entry.status));
}

function sizeOf({ body, blobs, snapshot, flow }: Append): number {
  let size = body.length + 200 + (snapshot?.body.length ?? 0) + (flow?.text.length ?? 0);
  for (const blob of blobs) size += blob.body.length + 100;
  return size;
}

/** The first statement of these segments: of one worker, and with one segment of each run. */
export function firstStatement<Each extends { readonly segment: Segment }>(waiting: readonly Each[]): readonly Each[] {
  const [first] = waiting;
  if (first === undefined) return [];
  const runs = new Set<string>();
  const taken: Each[] = [];
  let [appends, size] = [0, 0];
  for (const each of waiting) {
    const { segment } = each;
    const run = segment.appends[0]?.run ?? '';
    appends += segment.appends.length;
    size += segment.size;
    const isFull = taken.length > 0 && (appends > STATEMENT_MAX || size > STATEMENT_CHARACTERS);
    if (isFull || appends > SEGMENT_MAX || segment.worker !== first.segment.worker || runs.has(run)) break;
    runs.add(run);
    taken.push(each);
  }
  return taken;
}

/** The values of the function `commit`, after the place in the chain. */
export function valuesOf(segments: readonly Segment[]): readonly (string | readonly string[] | null)[] {
  const [heads, log]: [object[], object[]] = [[], []];
  const more = new More();
  let position = 0;
  segments.forEach(({ appends }, i) => {
    const last = appends.at(-1) as Append;
    const changes = more.take(i, appends);
    const signed = appends.filter(({ checkpoint }) => checkpoint !== undefined).length;
    const first = appends[0] as Append;
    const end = { e: last.after + last.count, h: last.hash, g: signed, m: changes ? 1 : 0 };
    heads.push({ i, r: first.run, a: first.after, ...end });
    for (const { after: a, count: n, at: t, body: b, hash: h } of appends)
      log.push({ i, p: position++, a, n, t, b, h });
  });
  const names = segments.map(({ appends }) => (appends[0] as Append).run);
  return [JSON.stringify(heads), names, JSON.stringify(log), more.text()];
}

type Rows = object[];

/** What changes in the row of a run: state, code, deadline, time, and the hash of its details. */
interface Listed {
  readonly i: number;
  readonly s: string | null;
  readonly c: string | null;
  readonly d: number | null;
  readonly t: number | null;
  readonly k: string | null;
}

/** What a commit stores besides rows of the log. Most store nothing. */
class More {
  readonly #lists = new Map<string, Rows>();
  readonly #flows = new Set<string>();

  /** True if the row of the run in `runs` changes. */
  take(i: number, appends: readonly Append[]): boolean {
    for (const append of appends) this.#takeRows(i, append);
    const listed = this.#listedOf(i, appends);
    const [first] = appends;
    if (first?.entry?.first !== undefined && first.after === 0) {
      const { flow, notation, startedAt: started, tenant, user: usr, thread, parent } = first.entry.first;
      const { hash: graph = '' } = first.flow ?? {};
      this.#add('starts', { ...listed, r: first.run, graph, flow, notation, started, tenant, usr, thread, parent });
      return true;
    }
    const changes = listed.s !== null || listed.k !== null;
    if (changes) this.#add('entries', listed);
    return changes;
  }

  #listedOf(i: number, appends: readonly Append[]): Listed {
    const details = appends.findLast((append) => append.details !== undefined)?.details;
    if (details !== undefined) this.#takeDetails(i, details);
    const k = details === undefined ? null : hashDetails(details);
    const entered = appends.findLast(({ entry }) => entry !== null);
    if (entered === undefined || entered.entry === null) return { i, s: null, c: null, d: null, t: null, k };
    const { status: s, code: c, due: d } = entered.entry;
    return { i, s, c, d, t: entered.at, k };
  }

  #takeRows(i: number, { flow, blobs, snapshot, checkpoint }: Append): void {
    if (flow !== null && !this.#flows.has(flow.hash)) {
      this.#flows.add(flow.hash);
      this.#add('flows', flow);
    }
    for (const { hash: h, body: b } of blobs) this.#add('blobs', { i, h, b });
    if (snapshot !== null) this.#addSnapshot({ i, q: snapshot.seq, h: snapshot.hash, b: snapshot.body });
    if (checkpoint === undefined) return;
    const { seq: q, head: h, at: t, key: k, signature: s } = checkpoint;
    this.#add('checkpoints', { i, q, h, t, k, s });
  }

  /** One statement cannot replace a row twice. */
  #addSnapshot(row: { readonly i: number; readonly q: number; readonly h: string; readonly b: string }): void {
    const rows = (this.#lists.get('snapshots') ?? []) as { readonly i: number; readonly q: number }[];
    const before = rows.findIndex(({ i }) => i === row.i);
    if (before === -1) this.#add('snapshots', row);
    else if ((rows[before]?.q ?? 0) < row.q) rows[before] = row;
  }

  #takeDetails(i: number, details: RunDetails): void {
    const [a, b, c, d, e, f, g, h, j] = factsRow(details.facts);
    this.#add('facts', { i, a, b, c, d, e, f, g, h, j });
    questionRows(details.questions).forEach(([p, q, n, at, x]) => this.#add('questions', { i, p, q, n, a: at, x }));
  }

  #add(list: string, row: object): void {
    const rows = this.#lists.get(list);
    if (rows === undefined) this.#lists.set(list, [row]);
    else rows.push(row);
  }

  text(): string | null {
    return this.#lists.size === 0 ? null : JSON.stringify(Object.fromEntries(this.#lists));
  }
}

/** The columns of `run_facts` without the run. */
export type FactsRow = readonly [
  seq: number | null,
  steps: number,
  inputTokens: number,
  outputTokens: number,
  costMicros: number,
  questions: number,
  node: string | null,
  error: string | null,
  message: string | null,
];
/** The columns of `questions` without the run and its tenant. */
export type QuestionRow = readonly [
  position: number,
  question: string,
  node: string,
  askedAt: number,
  expiresAt: number | null,
];

function factsRow(facts: RunDetails['facts']): FactsRow {
  const { seq, steps, inputTokens, outputTokens, costUsd, questions, node, error } = facts;
  const micros = Math.round(costUsd * 1_000_000);
  const [type, message] = [error?.type ?? null, error?.message ?? null];
  return [seq, steps, inputTokens, outputTokens, micros, questions, storable(node), storable(type), storable(message)];
}

function questionRows(questions: RunDetails['questions']): readonly QuestionRow[] {
  return questions.map(({ id, node, askedAt, expiresAt }, position) => [position, id, node, askedAt, expiresAt]);
}

/** A text in Postgres has no character 0, and no half of a pair. A message of a tool may have both. */
function storable<Text extends string | null>(text: Text): Text {
  return (text?.replaceAll('\0', '\uFFFD').toWellFormed() ?? null) as Text;
}

export function hashDetails({ facts, questions }: RunDetails): string {
  return hashRows(factsRow(facts), questionRows(questions));
}

/** Of the rows of a run in `run_facts` and `questions`. Empty if it has none. */
export function hashRows(facts: FactsRow | null, questions: readonly QuestionRow[]): string {
  const isEmpty = facts === null && questions.length === 0;
  return isEmpty ? '' : hash('sha256', JSON.stringify([facts, questions]), 'base64url');
}
