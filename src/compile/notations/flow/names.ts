/** What a name in a flow's expression means, where it cannot mean anything, and what is known of its type. */
import type { Json } from '../../../expr/json.ts';
import type { Path } from '../../expressions/reads.ts';
import { nearest } from '../../diagnose/nearest.ts';
import type { Definitions } from '../../document/definitions.ts';
import { serverTool } from '../../document/definitions.ts';
import { isPoisonedList } from '../../document/names.ts';
import { branchNames } from './edge.ts';
import type { Flow, FlowNode } from './read.ts';
import type { Recent } from './recent.ts';
import type { NodeOf } from './schema.ts';
import type { Slots } from './slots.ts';

export type Meaning =
  | { readonly is: 'context' }
  | { readonly is: 'node'; readonly id: string }
  /** A field of the latest agent's output. */
  | { readonly is: 'bare' }
  | { readonly is: 'nothing'; readonly message: string; readonly help?: string | undefined };

export interface Names {
  /** In a guard, a name by itself is a field even where a node has it. */
  meaning(read: Path, recent: Recent, guard: boolean): Meaning;
  /** The JSON Schema of a root name. */
  schema(read: Path, meaning: Meaning, recent: Recent): Json | undefined;
  /** The node that must have run for the read to give anything. */
  source(read: Path, meaning: Meaning): string | null;
}

export function namesOf(flow: Flow, slots: Slots, definitions: Definitions): Names {
  const bySlot = new Map([...flow.nodes.keys()].map((id) => [slots.of(id), id]));
  const ids = [...flow.declared.all];
  const approvals = [...flow.nodes.values()].flatMap(({ id, value }) => (value.type === 'approval' ? [id] : []));
  const isApproval = (id: string): boolean => flow.nodes.get(id)?.value.type === 'approval';
  const outputSchema = (agent: string): Json => definitions.agents[agent]?.output ?? null;

  const bare = (read: Path, recent: Recent): Meaning => {
    const [root = '', field = ''] = read.path;
    if (field === 'output' || field === 'result') {
      return { is: 'nothing', message: `there is no flow node \`${root}\``, help: near(root, ids) };
    }
    const schemas = [...recent.agents].map(outputSchema);
    const fields = schemas.flatMap(fieldsOf);
    if (recent.open || fields.includes(root) || schemas.some((schema) => !isClosed(schema))) return { is: 'bare' };
    if (recent.agents.size === 0) {
      return {
        is: 'nothing',
        message: `there is no \`${root}\` here: no agent has answered yet whose output could have it`,
        help:
          near(root, [...ids, 'event', 'approvals', 'error']) ??
          'Write the full path, such as `event.payload.message`.',
      };
    }
    const who = [...recent.agents].map((agent) => `\`${agent}\``).join(' or ');
    return {
      is: 'nothing',
      message: `there is no \`${root}\` in the output of ${who}`,
      help: near(root, [...fields, ...ids]) ?? `Its schema has ${fields.map((each) => `\`${each}\``).join(', ')}.`,
    };
  };

  return {
    meaning(read, recent, guard) {
      const [root = '', field] = read.path;
      if (root === 'event' || root === 'error') return { is: 'context' };
      if (root === 'approvals') {
        if (field === undefined || isApproval(field) || (flow.declared.has(field) && !flow.nodes.has(field)))
          return { is: 'context' };
        const help =
          near(field, approvals) ??
          (approvals.length === 0 ? undefined : `Approvals: ${approvals.map((each) => `\`${each}\``).join(', ')}.`);
        return {
          is: 'nothing',
          message: flow.declared.has(field)
            ? `flow node \`${field}\` is not an approval`
            : `there is no approval \`${field}\``,
          help,
        };
      }
      const id = bySlot.get(root);
      if (id !== undefined && guard && field === undefined) {
        const meant = bare(read, recent);
        return meant.is === 'nothing' ? { ...meant, help: `Did you mean \`${id}.output\`?` } : meant;
      }
      if (id !== undefined) return { is: 'node', id };
      return flow.declared.has(root) ? { is: 'context' } : bare(read, recent);
    },
    schema({ path: [root = '', field] }, meaning, recent) {
      if (meaning.is === 'node') return schemaOfNode(flow.nodes.get(meaning.id), flow, definitions);
      if (meaning.is === 'bare') {
        const [only, ...others] = recent.agents;
        return only === undefined || others.length > 0 || recent.open
          ? undefined
          : propertyOf(outputSchema(only), root);
      }
      if (root === 'error') return ERROR_SCHEMA;
      const node = root === 'approvals' && field !== undefined ? flow.nodes.get(field) : undefined;
      const asked = node?.poisoned('choices') === false ? node.value : undefined;
      return asked?.type === 'approval'
        ? { type: 'object', properties: { [asked.id]: { enum: [...asked.choices] } } }
        : undefined;
    },
    source({ path: [root = '', field] }, meaning) {
      if (meaning.is === 'node') return meaning.id;
      return root === 'approvals' && field !== undefined && flow.nodes.has(field) ? field : null;
    },
  };
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

function schemaOfNode(node: FlowNode | undefined, flow: Flow, definitions: Definitions): Json | undefined {
  const value = node?.value;
  switch (value?.type) {
    case 'agent':
      return { type: 'object', properties: { output: definitions.agents[value.agent]?.output ?? true } };
    case 'tool':
      return {
        type: 'object',
        properties: {
          result: definitions.tools[value.tool]?.output ?? serverTool(value.tool, definitions.servers)?.output ?? true,
        },
      };
    case 'decision':
      return { type: 'object', properties: { output: true } };
    case 'parallel':
      return { type: 'object', properties: { output: branchesSchema(node, value, flow) } };
    case 'approval':
    case 'terminal':
      return { type: 'object', properties: {} };
    default:
      return undefined;
  }
}

/** From the head of each branch to what the branch gave; anything where it is not clear which branches there are. */
function branchesSchema(node: FlowNode | undefined, { branches }: NodeOf<'parallel'>, flow: Flow): Json {
  if (isPoisonedList(node?.located('branches'), ['to']) || branches.some(({ to }) => !flow.declared.all.has(to)))
    return true;
  return { type: 'object', properties: Object.fromEntries(branchNames(branches).map((name) => [name, true])) };
}

function near(word: string, known: readonly string[]): string | undefined {
  const found = nearest(word, known);
  return found === undefined ? undefined : `Did you mean \`${found}\`?`;
}

function propertyOf(schema: Json, name: string): Json | undefined {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  return isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function fieldsOf(schema: Json): readonly string[] {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  return isObject(properties) ? Object.keys(properties) : [];
}

/** As the type check sees it: an object that lists its fields has no others, unless it says so. */
function isClosed(schema: Json): boolean {
  if (!isObject(schema) || !isObject(schema['properties'])) return false;
  if (
    ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'patternProperties'].some((key) =>
      Object.hasOwn(schema, key),
    )
  )
    return false;
  const more = schema['additionalProperties'];
  return more === undefined || more === false;
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
