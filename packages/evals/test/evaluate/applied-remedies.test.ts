/** Every key that a remedy names is applied to a document of the notation, and the changed document compiles. */
import { expect, test } from 'vitest';
import { compile } from '@sluice-internal/library';
import type { Json } from '@sluice-internal/kernel/expr';
import { CASES, plantedRun } from './planted.ts';

type Notation = 'flow' | 'workflow' | 'orchestration' | 'staged' | 'loop';
type Fields = { [key: string]: Json };

const TOOLS: Fields = {
  find: { effect: 'read', output: { type: 'object' } },
  total: { effect: 'read', output: { type: 'object' } },
  save: { effect: 'write' },
  pay: { effect: 'financial' },
  calculator: { effect: 'read' },
};
const AGENTS: Json = ['bot', 'planner', 'critic'].map((id) => ({ id, instructions: 'Work.', tools: ['find', 'save'] }));
const SHARED: Fields = { tools: TOOLS, agents: AGENTS, budgets: { tool_calls: 20, model_calls: 40 } };

const DOCUMENTS: { readonly [notation in Notation]: Fields } = {
  flow: {
    ...SHARED,
    flow: {
      id: 'f',
      entry: 'list',
      nodes: [
        { id: 'list', type: 'agent', agent: 'bot', routes: [{ to: 'each' }] },
        { id: 'each', type: 'map', over: '{{list.output.items}}', do: 'one', routes: [{ to: 'both' }] },
        { id: 'one', type: 'agent', agent: 'bot', routes: [{ to: 'end' }] },
        {
          id: 'both',
          type: 'parallel',
          branches: [{ to: 'left' }, { to: 'right' }],
          join: { type: 'all', timeout: 5 },
          routes: [{ to: 'gate' }],
        },
        { id: 'left', type: 'agent', agent: 'bot', routes: [{ to: 'end' }] },
        { id: 'right', type: 'agent', agent: 'critic', routes: [{ to: 'end' }] },
        {
          id: 'gate',
          type: 'approval',
          message: 'Go?',
          routes: [{ when: "approvals.gate == 'approve'", to: 'bot' }, { to: 'end' }],
        },
        { id: 'bot', type: 'agent', agent: 'bot' },
      ],
    },
  },
  workflow: {
    ...SHARED,
    workflow: {
      name: 'w',
      steps: [
        { name: 'write', agent_name: 'bot' },
        { name: 'refine', agent_name: 'critic', mode: 'loop', max_iterations: 5, until: 'OK' },
      ],
    },
  },
  orchestration: {
    tools: TOOLS,
    budgets: { tool_calls: 20, model_calls: 40 },
    Orchestration: {
      Agents: [{ Name: 'bot', Instructions: 'Work.', Plugins: ['find', 'save'] }],
      Selection: { Type: 'sequential' },
      Termination: { Type: 'maxiterations', MaxIterations: 5 },
    },
  },
  staged: {
    ...SHARED,
    staged: {
      id: 's',
      plan: { agent: 'planner' },
      workers: { agent: 'bot', max: 2 },
      validate: { agent: 'critic', confidence: 0.8 },
      replans: 2,
    },
  },
  loop: { ...SHARED, loop: { id: 'l', planner: 'planner', executor: 'bot' } },
};

type Path = readonly (string | number)[];
type Edit = (notation: Notation) => readonly (readonly [path: Path, value: Json])[];

const set =
  (path: string, value: Json): Edit =>
  () => [[path.split('.'), value]];
const under =
  (section: Notation, path: string, value: Json): Edit =>
  () => [[[section, ...path.split('.')], value]];
const onTool =
  (tool: string, fields: Fields): Edit =>
  () =>
    Object.entries(fields).map(([key, value]) => [['tools', tool, key], value]);
const onAgent =
  (key: string, value: Json): Edit =>
  () => [[['agents', 0, key], value]];
const onMember =
  (key: string, value: Json): Edit =>
  () => [[['Orchestration', 'Agents', 0, key], value]];
const onNode =
  (fields: Fields, node = 7): Edit =>
  () =>
    Object.entries(fields).map(([key, value]) => [['flow', 'nodes', node, key], value]);

/** The changes that each part of a remedy makes to the document. The list is empty if the part only names a place. */
const NAMED: Edit = () => [];
const EDITS: { readonly [fragment: string]: Edit } = {
  instructions: onAgent('instructions', 'Stop when you are done.'),
  'protections.loop.on_trip: escalate': set('protections.loop', { on_trip: 'escalate' }),
  'budgets.tool_calls': set('budgets.tool_calls', 10),
  rate_limit: onTool('find', { rate_limit: { calls: 10, per_seconds: 60 } }),
  'budgets.model_calls': set('budgets.model_calls', 10),
  'protections.deadlock': set('protections.deadlock', { on_trip: 'end' }),
  input: onTool('find', { input: { type: 'object' } }),
  'plan.approve: true': under('loop', 'plan.approve', true),
  criteria: under('loop', 'criteria', ['The order was placed']),
  'budgets.context_tokens': set('budgets.context_tokens', 20_000),
  ContextWindow: onMember('ContextWindow', { MaxTailMessages: 5 }),
  Instructions: onMember('Instructions', 'Stop when you are done.'),
  'EnableMemory: false': onMember('EnableMemory', false),
  'memory: false': onAgent('memory', false),
  'loop:': NAMED,
  'grounding: { cite: required }': under('loop', 'grounding', { cite: 'required' }),
  'boundary.escalation.ungrounded: fail': set('boundary.escalation.ungrounded', 'fail'),
  'grounding.on_violation: halt': under('loop', 'grounding.on_violation', 'halt'),
  until: () => [[['workflow', 'steps', 1, 'until'], 'DONE']],
  Termination: NAMED,
  replans: under('staged', 'replans', 1),
  'budgets.reflections': set('budgets.reflections', 1),
  'protections.spawn.max': set('protections.spawn', { max: 4 }),
  'plan.max_steps': under('loop', 'plan.max_steps', 4),
  'idempotent: true': onTool('save', { idempotent: true }),
  'verify: <tool>': onTool('save', { verify: 'find' }),
  'boundary.tools.allow': set('boundary.tools.allow', ['find', 'save', 'pay']),
  deny: set('boundary.tools.deny', ['save']),
  'boundary.tools.approve': set('boundary.tools.approve', ['save']),
  'boundary.approval_timeout': set('boundary', { tools: { approve: ['save'] }, approval_timeout: 60 }),
  timeout: (notation) =>
    notation === 'flow' ? [[['flow', 'nodes', 6, 'timeout'], 60]] : [[['tools', 'find', 'timeout'], 60]],
  on_timeout: onNode({ timeout: 60, on_timeout: 'reject' }, 6),
  output: (notation) => [
    [['tools', 'total', 'output'], { type: 'object', properties: { sum: { type: 'number' } } }],
    ...(notation === 'orchestration' ? [] : onAgent('output', { type: 'object' })(notation)),
  ],
  on_error: onNode({ on_error: [{ match: 'timeout', to: 'end' }] }),
  approvers: (notation) => [
    [['people'], [{ id: 'anna', roles: ['manager'] }]],
    notation === 'flow'
      ? [['flow', 'nodes', 6, 'approvers'], { roles: ['manager'] }]
      : [['tools', 'save', 'approvers'], { roles: ['manager'] }],
  ],
};

function changed(document: Fields, path: Path, value: Json): Fields {
  const copy = structuredClone(document);
  let place: { [key: string | number]: Json } = copy;
  for (const key of path.slice(0, -1)) place = (place[key] ??= {}) as typeof place;
  place[path.at(-1) ?? ''] = value;
  return copy;
}

/** A remedy may say that the agent should run under `loop:`; then the key is one of that document. */
function documentFor(notation: Notation, [section]: Path): Fields {
  const isOfLoop = section === 'loop' && notation !== 'loop';
  return isOfLoop ? DOCUMENTS.loop : DOCUMENTS[notation];
}

const known = new Map<string, readonly string[]>();

/** Many pathologies have the same remedy, and its document is compiled once. */
function errorsIn(document: Fields): readonly string[] {
  const key = JSON.stringify(document);
  const errors = known.get(key) ?? newErrorsIn(document);
  known.set(key, errors);
  return errors;
}

function newErrorsIn(document: Fields): readonly string[] {
  const compiled = compile(document);
  return compiled.ok
    ? []
    : compiled.diagnostics.filter(({ severity }) => severity === 'error').map(({ message }) => message);
}

test.each(Object.entries(DOCUMENTS))('the document in %s compiles', (_, document) => {
  expect(errorsIn(document)).toEqual([]);
});

test.each(Object.keys(CASES))('%s', async (id) => {
  const { remedyIn } = await plantedRun(id);
  for (const notation of Object.keys(DOCUMENTS) as Notation[]) {
    const remedy = remedyIn(notation);
    const fragments = [...remedy.matchAll(/`([^`]+)`/g)].map(([, fragment = '']) => fragment);
    for (const fragment of fragments) {
      expect(Object.keys(EDITS), `${notation}: ${remedy}`).toContain(fragment);
      let edited: Fields | null = null;
      for (const [path, value] of EDITS[fragment]?.(notation) ?? [])
        edited = changed(edited ?? documentFor(notation, path), path, value);
      expect({ notation, fragment, errors: edited === null ? [] : errorsIn(edited) }).toEqual({
        notation,
        fragment,
        errors: [],
      });
    }
  }
});
