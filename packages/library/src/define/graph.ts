/**
 * The graph of a flow while it is written. Every change gives a new graph, so two flows can begin with the same steps.
 * An open slot is a route whose target is the next step; one that stays open ends the path.
 */
import { SluiceError } from '@sluice-internal/engine/ports';

interface Slot {
  readonly id: number;
  /** Undefined: the route always matches. */
  readonly when?: string | true;
  readonly to: string | null;
}
interface Draft {
  readonly id: string;
  readonly fields: { readonly [field: string]: unknown };
  readonly routes: readonly Slot[];
  readonly errors: readonly Slot[];
}
export interface Graph {
  readonly drafts: readonly Draft[];
  /** The first node. Null until there is one. */
  readonly entry: string | null;
  readonly open: readonly number[];
  readonly slots: number;
  /** The path of each result that later steps can read, by step. */
  readonly paths: ReadonlyMap<string, string>;
}

export const EMPTY: Graph = { drafts: [], entry: null, open: [], slots: 0, paths: new Map() };

interface NewNode {
  readonly id: string;
  readonly fields: { readonly [field: string]: unknown };
  /** The path of its result. */
  readonly path?: string;
  /** Conditions of its routes. Default: one route that always matches. */
  readonly routes?: readonly { readonly when?: string | true; readonly ends?: boolean }[];
  /** True if it has an error route. */
  readonly catches?: boolean;
}

/** Adds a node after the open slots. Its own routes are open then, except those that end. */
export function addNode(graph: Graph, { id, fields, path, routes = [{}], catches = false }: NewNode): Graph {
  checkName(graph, id);
  let { slots } = graph;
  const made = routes.map(({ when, ends }) => ({
    ends,
    slot: { id: slots++, to: null, ...(when === undefined ? {} : { when }) },
  }));
  const errors = catches ? [{ id: slots++, to: null }] : [];
  const connected = connect(graph, graph.open, id);
  return {
    drafts: [...connected.drafts, { id, fields, routes: made.map(({ slot }) => slot), errors }],
    entry: graph.entry ?? id,
    open: made.filter(({ ends }) => ends !== true).map(({ slot }) => slot.id),
    slots,
    paths: path === undefined ? graph.paths : new Map([...graph.paths, [id, path]]),
  };
}

/** Splits every open slot by a condition. */
export function split(
  graph: Graph,
  condition: string,
): { readonly graph: Graph; readonly met: readonly number[]; readonly unmet: readonly number[] } {
  const met: number[] = [];
  const unmet: number[] = [];
  let { slots } = graph;
  const drafts = graph.drafts.map((draft) => ({
    ...draft,
    routes: draft.routes.flatMap((slot) => {
      if (!graph.open.includes(slot.id)) return [slot];
      const both = [
        { ...slot, id: slots++, when: conjunction(slot.when, condition) },
        { ...slot, id: slots++ },
      ] as const;
      met.push(both[0].id);
      unmet.push(both[1].id);
      return both;
    }),
  }));
  return { graph: { ...graph, drafts, slots }, met, unmet };
}

/** True if every open slot is a route whose condition is an expression. Error routes and decisions have none. */
export function canSplit(graph: Graph): boolean {
  const slots = graph.drafts.filter(({ fields }) => fields['type'] !== 'decision').flatMap(({ routes }) => routes);
  return graph.open.length > 0 && graph.open.every((open) => slots.some(({ id }) => id === open));
}

function conjunction(first: string | true | undefined, second: string): string {
  return typeof first !== 'string' ? second : `(${first}) && (${second})`;
}

export function connect(graph: Graph, slots: readonly number[], to: string): Graph {
  if (slots.length === 0) return graph;
  const fill = (slot: Slot): Slot => (slots.includes(slot.id) ? { ...slot, to } : slot);
  const drafts = graph.drafts.map((draft) => ({
    ...draft,
    routes: draft.routes.map(fill),
    errors: draft.errors.map(fill),
  }));
  return { ...graph, drafts, open: graph.open.filter((id) => !slots.includes(id)) };
}

/** Changes the fields of a node. */
export function withFields(graph: Graph, id: string, fields: { readonly [field: string]: unknown }): Graph {
  const drafts = graph.drafts.map((draft) =>
    draft.id === id ? { ...draft, fields: { ...draft.fields, ...fields } } : draft,
  );
  return { ...graph, drafts };
}

export function errorSlots(graph: Graph, id: string): readonly number[] {
  return graph.drafts.find((draft) => draft.id === id)?.errors.map((slot) => slot.id) ?? [];
}

/** A name that no node has yet: `output`, `output_2`, … */
export function freeName(graph: Graph, wanted: string): string {
  const isTaken = (name: string): boolean => graph.drafts.some(({ id }) => id === name);
  if (!isTaken(wanted)) return wanted;
  let number = 2;
  while (isTaken(`${wanted}_${number}`)) number += 1;
  return `${wanted}_${number}`;
}

/** The nodes as a document has them. */
export function nodesOf(graph: Graph): readonly { readonly [field: string]: unknown }[] {
  return graph.drafts.map(({ id, fields, routes, errors }) => {
    const ways = routesOf(routes);
    const onError = errors.map(({ to }) => ({ default: true, to: to ?? 'end' }));
    return {
      id,
      ...fields,
      ...(ways.length === 0 ? {} : { routes: ways }),
      ...(onError.length === 0 ? {} : { on_error: onError }),
    };
  });
}

/** Routes that end the path are left out where nothing follows them, except for one after a condition. */
function routesOf(slots: readonly Slot[]): readonly { readonly when?: string | boolean; readonly to: string }[] {
  const last = slots.findLastIndex(({ to }) => to !== null);
  const kept = slots
    .slice(0, last + 1)
    .map(({ when, to }) => ({ ...(when === undefined ? {} : { when }), to: to ?? 'end' }));
  return kept.at(-1)?.when === undefined ? kept : [...kept, { to: 'end' }];
}

const RESERVED_NAMES = ['end', 'event', 'approvals', 'error', 'input'] as const;
export type ReservedName = (typeof RESERVED_NAMES)[number];
const RESERVED: ReadonlySet<string> = new Set(RESERVED_NAMES);

function checkName(graph: Graph, id: string): void {
  if (!/^[A-Za-z_]\w*$/.test(id) || RESERVED.has(id))
    throw new SluiceError(
      'bad-definition',
      RESERVED.has(id) ? `a step cannot be called \`${id}\`` : `\`${id}\` is not a name that expressions can use`,
      'Name the step with `{ as: … }`, in letters, digits and `_`.',
    );
  if (graph.drafts.some((draft) => draft.id === id))
    throw new SluiceError('bad-definition', `there is already a step \`${id}\``, 'Name the step with `{ as: … }`.');
}
