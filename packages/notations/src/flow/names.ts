/** Resolves the names in a flow's expressions, with their types. */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { path, typeFromSchema } from '@sluice-internal/compile/expressions';
import type { Path } from '@sluice-internal/compile/expressions';
import { didYouMean, quoted } from '@sluice-internal/compile/source';
import { listed } from '@sluice-internal/compile/document';
import type { Definitions } from '@sluice-internal/compile/document';
import type { Flow } from './model.ts';
import { itemSlot, type Slots } from './slots.ts';
import type { FlowGraph } from './graph.ts';

export type Meaning =
  /** `warning`: the name can be read, but gives nothing. `slot`: where the value is, if not under the name itself. */
  | { readonly is: 'context'; readonly warning?: string; readonly help?: string; readonly slot?: string }
  /** An item of this map. */
  | { readonly is: 'item'; readonly of: string; readonly slot: string }
  | { readonly is: 'node'; readonly id: string }
  /** The latest agent's output itself, read as `output`. */
  | { readonly is: 'latest' }
  /** A field of the latest agent's output. */
  | { readonly is: 'bare'; readonly warning?: string; readonly help?: string }
  | { readonly is: 'nothing'; readonly message: string; readonly help?: string | undefined };

export interface Names {
  /** In a guard, a name by itself is a field even where a node has it. */
  meaning(read: Path, recent: Recent, guard: boolean, reader: string): Meaning;
  /** The JSON Schema of a root name. */
  schema(read: Path, meaning: Meaning, recent: Recent): Json | undefined;
  /** The node that must have run for the read to give anything. */
  source(read: Path, meaning: Meaning): string | null;
}

const NOT_THE_INPUT = '`input` is a field of the latest reply here, not the input of the run';
const TEXT_INPUT = '`event.payload.message` is a text if the input is one, and a text has no fields';
const EVENT_HELP = 'The input of the run is `event.payload`; a text is `event.payload.message`.';

export function namesOf(flow: Flow, graph: FlowGraph, slots: Slots, definitions: Definitions): Names {
  const locals = localNames(flow, graph);
  const valueOf = (id: string): string => {
    const node = flow.nodes.get(id);
    const [field = 'output'] = node === undefined ? [] : Object.keys(node.facts.readable(node, flow, definitions));
    return node?.facts.choices === undefined ? `${id}.${field}` : path('approvals', id);
  };
  const bySlot = new Map([...flow.declared.all].map((id) => [slots.named(id), id]));
  return {
    meaning(read, recent, guard, reader) {
      const [root = '', field] = read.path;
      const around = locals(reader);
      const known = contextMeaning(flow, read, guard, recent, around);
      if (known !== null) return known;
      const id = bySlot.get(root);
      const asField = (): Meaning => fieldMeaning(flow, definitions, read, recent, around, reader);
      if (id === undefined) return flow.declared.has(root) ? { is: 'context' } : asField();
      if (!flow.nodes.has(id)) return { is: 'context' };
      if (guard && field === undefined) {
        const meant = asField();
        const help = answerMeant(flow, reader, id)?.help ?? `Did you mean \`${valueOf(id)}\`?`;
        return meant.is === 'nothing' ? { ...meant, help } : meant;
      }
      return nodeMeaning(flow, id, field, valueOf(id));
    },
    schema({ path: [root = '', field] }, meaning, recent) {
      if (meaning.is === 'node') {
        const node = flow.nodes.get(meaning.id);
        // A field that could not be read may have declared any value.
        if (node === undefined || node.damaged()) return true;
        return { type: 'object', properties: node.facts.readable(node, flow, definitions) };
      }
      if (meaning.is === 'bare') return fieldSchema(definitions, root, recent);
      if (root === 'error') return ERROR_SCHEMA;
      if (root !== 'approvals') return undefined;
      return field === undefined ? { type: 'object' } : approvalSchema(flow, field);
    },
    source({ path: [root = '', field] }, meaning) {
      if (meaning.is === 'node') return meaning.id;
      return root === 'approvals' && field !== undefined && flow.nodes.has(field) ? field : null;
    },
  };
}

/** A node and its fields. The choice of an approval is not among them. */
function nodeMeaning(flow: Flow, id: string, field: string | undefined, choice: string): Meaning {
  if (flow.nodes.get(id)?.facts.choices === undefined || ANSWER_FIELDS.has(field ?? '')) return { is: 'node', id };
  return {
    is: 'nothing',
    message: `approval \`${id}\` has no ${field === undefined ? 'value' : `field \`${field}\``}`,
    help: `Its choice is \`${choice}\`; it also has \`${id}.data\`, \`${id}.text\` and \`${id}.by\`.`,
  };
}

/** The parts of an answer beside its choice. */
const ANSWER_FIELDS: ReadonlySet<string> = new Set(['data', 'text', 'by']);

/** Names that every flow has, and those of the items around the reader; null for any other name. */
function contextMeaning(
  flow: Flow,
  read: Path,
  guard: boolean,
  recent: Recent,
  locals: ReadonlyMap<string, Meaning>,
): Meaning | null {
  const [root = '', field] = read.path;
  const local = locals.get(root);
  if (local !== undefined) return local;
  if (root === 'error') return { is: 'context' };
  if (root === 'approvals') return approvalMeaning(flow, field);
  if (root === 'event') {
    // A text input is `event.payload.message`.
    if (guard && read.path[2] === 'message' && read.path.length > 3)
      return { is: 'context', warning: TEXT_INPUT, help: EVENT_HELP };
    if (field === undefined || field === 'payload') return { is: 'context' };
    return { is: 'context', warning: `there is no \`event.${field}\`, so this is always empty`, help: EVENT_HELP };
  }
  const isLatest = root === 'output' && !flow.declared.has(root) && (recent.open || recent.agents.size > 0);
  return isLatest ? { is: 'latest' } : null;
}

/** `approvals`, or one approval of it. */
function approvalMeaning(flow: Flow, field: string | undefined): Meaning {
  const approvals = [...flow.nodes.values()].flatMap(({ id, facts }) => (facts.choices === undefined ? [] : [id]));
  const isDamaged = field !== undefined && flow.declared.has(field) && !flow.nodes.has(field);
  if (field === undefined || approvals.includes(field) || isDamaged) return { is: 'context' };
  return {
    is: 'nothing',
    message: flow.declared.has(field)
      ? `flow node \`${field}\` is not an approval`
      : `there is no approval \`${field}\``,
    help: didYouMean(
      field,
      approvals,
      approvals.length === 0 ? 'The flow has no approvals.' : `Approvals: ${quoted(approvals)}.`,
    ),
  };
}

/** A field of the latest agent's output, which is read by its name alone. */
function fieldMeaning(
  flow: Flow,
  definitions: Definitions,
  read: Path,
  recent: Recent,
  locals: ReadonlyMap<string, Meaning>,
  reader: string,
): Meaning {
  const ids = [...flow.declared.all];
  const [root = '', field = ''] = read.path;
  if (field === 'output' || field === 'result') {
    const help =
      root === 'previous'
        ? `Write \`output\` for the output of the latest agent, or the id of the node.`
        : didYouMean(root, ids, `Flow nodes: ${listed(ids)}.`);
    return { is: 'nothing', message: `there is no flow node \`${root}\``, help };
  }
  const replies = [...recent.agents].map((agent) => typeFromSchema(outputSchema(definitions, agent)));
  const fields = replies.flatMap((reply) => [...(reply.fields?.keys() ?? [])]);
  // A reply with listed fields has no others, unless its schema allows more.
  if (
    recent.open ||
    fields.includes(root) ||
    replies.some((reply) => reply.fields === undefined || reply.rest !== undefined)
  ) {
    return fields.includes(root)
      ? { is: 'bare' }
      : { is: 'bare', ...likelyMistake(flow, definitions, root, field, reader) };
  }
  if (recent.agents.size === 0) {
    return {
      is: 'nothing',
      message: `there is no \`${root}\` here, and no agent has answered before this node`,
      help:
        answerMeant(flow, reader, root)?.help ??
        didYouMean(
          root,
          [...locals.keys(), ...ids, 'event', 'approvals', 'error'],
          'Write the full path, such as `event.payload.message`.',
        ),
    };
  }
  const agents = [...recent.agents].map((agent) => `\`${agent}\``).join(' or ');
  return {
    is: 'nothing',
    message: `there is no \`${root}\` in the output of ${agents}`,
    help:
      answerMeant(flow, reader, root)?.help ??
      didYouMean(root, [...locals.keys(), ...fields, ...ids], fieldsHelp(fields)),
  };
}

function fieldsHelp(fields: readonly string[]): string {
  return fields.length === 0 ? 'Its schema has no fields.' : `Its schema has ${quoted(fields)}.`;
}

/** A warning if the author probably means another name: `input`, a choice, or one that is nearly the same and has this field. */
function likelyMistake(flow: Flow, definitions: Definitions, root: string, field: string, reader: string) {
  if (root === 'input' && field !== '') return { warning: NOT_THE_INPUT, help: EVENT_HELP };
  const answer = field === '' ? answerMeant(flow, reader, root) : undefined;
  if (answer !== undefined) return answer;
  const nodes = [...flow.nodes.values()].filter(({ id }) => id !== root);
  const roots = nodes
    .filter((node) => Object.hasOwn(node.facts.readable(node, flow, definitions), field))
    .map(({ id }) => id);
  if (field === 'payload') roots.push('event');
  if (flow.nodes.get(field)?.facts.choices !== undefined) roots.push('approvals');
  const help = didYouMean(root, roots, undefined);
  return help === undefined ? {} : { warning: readAsField(root), help };
}

/** Neither a choice nor an approval is the answer of the person: a condition compares the answer with a choice. */
function answerMeant(flow: Flow, reader: string, name: string) {
  const isChoice = choicesOf(flow, reader)?.includes(name) === true;
  const asked = isChoice ? reader : name;
  const [first] = choicesOf(flow, asked) ?? [];
  if (first === undefined) return undefined;
  const help = `Write \`${path('approvals', asked)} == '${isChoice ? name : first}'\`.`;
  return { warning: `${readAsField(name)}, not as the answer to an approval`, help };
}

const readAsField = (root: string): string => `\`${root}\` is read as a field of the latest reply`;

function fieldSchema(definitions: Definitions, name: string, recent: Recent): Json | undefined {
  const [only, ...others] = recent.agents;
  if (only === undefined || others.length > 0 || recent.open) return undefined;
  const properties = (outputSchema(definitions, only) as { readonly properties?: Json } | null)?.properties;
  return isRecord(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function approvalSchema(flow: Flow, id: string): Json | undefined {
  const choices = choicesOf(flow, id);
  return choices === undefined ? undefined : { type: 'object', properties: { [id]: { enum: [...choices] } } };
}

function choicesOf(flow: Flow, id: string): readonly string[] | undefined {
  const node = flow.nodes.get(id);
  return node?.poisoned('choices') === false ? node.facts.choices?.(node.value) : undefined;
}

function outputSchema({ agents }: Definitions, agent: string): Json {
  return agents[agent]?.output ?? null;
}

/** The names of items, for the nodes that run once per item. */
function localNames(flow: Flow, graph: FlowGraph): (reader: string) => ReadonlyMap<string, Meaning> {
  const scopes = [...flow.nodes.values()].flatMap(({ id, value, facts }) => {
    const items = facts.items?.(value);
    if (items === undefined) return [];
    const { as } = items;
    const names: readonly [string, Meaning][] = [
      [as, { is: 'item', of: id, slot: itemSlot(as) }],
      [`${as}_index`, { is: 'context', slot: `${itemSlot(as)}_index` }],
    ];
    return [{ members: graph.inBranches.get(id), names }];
  });
  return (reader) => new Map(scopes.flatMap(({ members, names }) => (members?.has(reader) === true ? names : [])));
}

const ERROR_SCHEMA: Json = {
  type: 'object',
  properties: {
    class: { type: 'string' },
    type: { type: 'string' },
    message: { type: 'string' },
    node: { type: 'string' },
    code: { type: 'string' },
  },
};

/** `open`: it may be one that is not listed. */
export interface Recent {
  readonly agents: ReadonlySet<string>;
  readonly open: boolean;
}

const LISTED_MAX = 4;

export interface Recents {
  before(id: string): Recent;
  after(id: string): Recent;
}

export function recentAgents(flow: Flow, graph: FlowGraph): Recents {
  const before = new Map<string, Recent>();
  const after = (id: string): Recent => {
    const entering = before.get(id) ?? UNKNOWN;
    const node = flow.nodes.get(id);
    const agent = node?.facts.lastAgent?.(node.value);
    if (agent === undefined) return entering;
    // Which branch wrote last is known only when the branches have run.
    return agent === null ? { ...entering, open: true } : { agents: new Set([agent]), open: false };
  };
  const { entry } = flow.value;
  before.set(entry, NOTHING);
  const waiting = [entry];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    for (const { to, kind } of graph.edges.get(id) ?? []) {
      if (!flow.nodes.has(to)) continue;
      const entering = before.get(id) ?? NOTHING;
      const coming = kind === 'route' ? after(id) : kind === 'error' ? merge(entering, after(id)) : entering;
      const known = before.get(to);
      const merged = merge(known, coming);
      if (known !== undefined && merged.open === known.open && merged.agents.size === known.agents.size) continue;
      before.set(to, merged);
      waiting.push(to);
    }
  }
  // A name may also be the item of a map whose `as` cannot be read.
  const isUnclear = graph.poisoned || [...flow.nodes.values()].some((node) => node.poisoned('as'));
  if (isUnclear) return { before: () => UNKNOWN, after: (id) => ({ ...after(id), open: true }) };
  return { before: (id) => before.get(id) ?? UNKNOWN, after };
}

/** The agent before a node that no route reaches, or that a route with a mistake may lead to. */
const UNKNOWN: Recent = { agents: new Set(), open: true };

const NOTHING: Recent = { agents: new Set(), open: false };

function merge(a: Recent | undefined, b: Recent): Recent {
  if (a === undefined) return b;
  const agents = new Set([...a.agents, ...b.agents]);
  const many = agents.size > LISTED_MAX;
  return { agents: many ? a.agents : agents, open: a.open || b.open || many };
}
