/**
 * Long-term memory of the agents of a graph, in every notation. The run reads the memory of each agent as it starts, and the
 * calls of the agent get the entries as data. Answers, and everything that the run read from outside, are collected in slots.
 * Before a run ends well, the last answer of each agent goes through the write gate.
 *
 * A `loop` reads and writes memory in phases of its own, with the same checks.
 */
import type { Traced } from '@sluice-internal/controls';
import type { DoNode, EndNode, Expr, Input, Node, NodeId, Write } from '@sluice-internal/kernel/ir';
import type { Definitions } from '../../document/definitions.ts';
import type { MemoryDef } from '../../document/memory.ts';
import { literal, object, path, quote } from '@sluice-internal/kernel/expr';
import { OBSERVATIONS } from '../agent-turn/turn.ts';
import { agentMeterIds } from '../budget-meters.ts';
import { GUIDANCE } from '../guidance-slot.ts';
import { heardBy } from '../guidance.ts';
import { append, set, setField, type Kit, type Step } from '../kit.ts';
import { reachedFrom, type Draft } from '../reached.ts';
import { allEntries, readInput, untrustedEntries, withheldEntries, writeEffect, memoryMessages } from './checks.ts';

/** The entries that each agent recalled: `{ AGENT: { entries, withheld } }`. */
const RECALLED = '_recalled';
/** The answers of agents with memory: `{ agent, goal, answer }`. */
const ANSWERS = '_answers';
/** Observations that were made outside the turns of agents. */
const READ = '_read';
/** The answer that is about to be remembered. */
const LAST = '_last_answer';
const ERROR = '_error_before';
const IN_BRANCH = '_in_branch';
/** Characters of a goal that are remembered. */
const GOAL_MAX = 2000;

/** Records the answer that ended a turn. Undefined for an agent without memory. */
export function answerOf(definitions: Definitions, agent: string, input: Input, answer: Expr): Write | undefined {
  if (!Object.hasOwn(definitions.memory, agent)) return undefined;
  // An agent that sees a shared history works on the task of the run.
  const asked = input['history'] === undefined ? (input['prompt'] ?? 'input') : 'input';
  const goal = `cel.bind(t, text(${asked}), size(t) > ${GOAL_MAX} ? t.substring(0, ${GOAL_MAX}) : t)`;
  const isObject = (definitions.agents[agent]?.output ?? null) !== null;
  const value = isObject ? `cel.bind(o, jsonIn(${answer}), o == null ? ${answer} : o)` : answer;
  return append(ANSWERS, { agent: quote(agent), goal, answer: value });
}

/** Adds memory if a model call of the graph is by an agent that has one. Returns the entry of the graph. */
export function addMemory(draft: Draft, kit: Kit, definitions: Definitions): NodeId {
  const { nodes, entry } = draft;
  const agents = Object.keys(definitions.memory).filter((agent) =>
    [...nodes.values()].some((node) => isCallOf(node, agent)),
  );
  if (agents.length === 0) return entry;
  for (const [id, node] of [...nodes]) nodes.set(id, completed(node, agents, definitions));
  for (const [id, node] of [...nodes]) if (isToolNode(node)) nodes.set(id, withFailures(node, nodes, kit));
  for (const end of endsOf(draft)) splitEnd(draft, end, agents, { kit, definitions });
  return addReads(agents, entry, { kit, definitions });
}

/** Forgets the answers so far, because the run starts over. Writes nothing if no agent has memory. */
export function dropAnswers({ memory }: Definitions): readonly Write[] {
  return Object.keys(memory).length === 0 ? [] : [set(ANSWERS, '[]')];
}

function isCallOf(node: Node, agent: string): boolean {
  return node.op === 'do' && node.effect.kind === 'model' && node.effect.agent === agent;
}

/** A tool call that the author wrote. The calls of agents are observations already. */
function isToolNode(node: Node): node is DoNode {
  return node.op === 'do' && node.effect.kind === 'tool' && !node.writes.some(({ slot }) => slot === OBSERVATIONS);
}

function completed(node: Node, agents: readonly string[], definitions: Definitions): Node {
  if (node.op === 'fork') {
    const gather = [ANSWERS, READ].map((slot) => ({ slot, mode: 'concat' as const }));
    return { ...node, gather: [...node.gather, ...gather] };
  }
  if (node.op !== 'do') return node;
  switch (node.effect.kind) {
    case 'model':
      return withModel(node, agents, definitions);
    case 'tool':
      return withControls(isToolNode(node) ? withWrites(node, [readBy(node, 'it', true)]) : node, agents);
    case 'check':
      return withCheck(node, agents);
    case 'wait':
      return node.effect.input['signal'] === undefined ? node : withWrites(node, [readBy(node, 'it', false)]);
    case 'ask':
      return node;
  }
}

/** The call gets the memory of its agent. A call that is not part of a turn records its reply as the answer. */
function withModel(node: DoNode, agents: readonly string[], definitions: Definitions): DoNode {
  if (node.effect.kind !== 'model') return node;
  const { agent, input } = node.effect;
  const { provider } = definitions.models.find(definitions.agents[agent]?.model ?? null) ?? {};
  const remote = provider === 'a2a' ? [readBy(node, 'it.text', false)] : [];
  if (!agents.includes(agent)) return withWrites(node, remote);
  const messages = memoryMessages(path(RECALLED, agent));
  const said = input['messages'];
  const isTurn = said !== undefined && said !== GUIDANCE;
  const recorded = isTurn ? undefined : answerOf(definitions, agent, input, 'it.text');
  const effect = {
    ...node.effect,
    input: { ...input, messages: `${messages} + ${isTurn ? said : heardBy(agent)}` },
  };
  return withWrites({ ...node, effect }, [...remote, ...(recorded === undefined ? [] : [recorded])]);
}

function joined(agents: readonly string[], of: (recalled: Expr) => Expr): Expr {
  return `(${agents.map((agent) => of(path(RECALLED, agent))).join(' + ')})`;
}

/** The controls that trace arguments read the memory of the run. */
function withControls(node: DoNode, agents: readonly string[]): DoNode {
  const { controls } = node;
  if (controls === undefined) return node;
  const recalled = { recalled: joined(agents, untrustedEntries), withheld: joined(agents, withheldEntries) };
  // An entry that is trusted can still repeat what was read in confidence.
  const read: { readonly [control: string]: Input } = {
    provenance: recalled,
    egress: recalled,
    confidential: { recalled: joined(agents, allEntries) },
  } satisfies { readonly [control in Traced]: Input };
  const walk = controls.walk.map((each) => {
    const more = each.how === 'check' && Object.hasOwn(read, each.control) ? read[each.control] : undefined;
    return each.how !== 'check' || more === undefined
      ? each
      : { ...each, with: { ...each.with, input: { ...each.with.input, ...more } } };
  });
  return { ...node, controls: { ...controls, walk } };
}

/** Checks of answers read the memory of the run. So do the sources of a team. */
function withCheck(node: DoNode, agents: readonly string[]): DoNode {
  if (node.effect.kind !== 'check') return node;
  const { check, input } = node.effect;
  const withInput = (more: Input): DoNode => ({
    ...node,
    effect: { ...node.effect, input: { ...input, ...more } },
  });
  if (check === 'policy:grounding')
    return withInput({ given: `${input['given'] ?? '[]'} + [${joined(agents, allEntries)}]` });
  return check === 'context:assemble' ? withWrites(node, [readSources(node)]) : node;
}

function withWrites(node: DoNode, writes: readonly Write[]): DoNode {
  return writes.length === 0 ? node : { ...node, writes: [...node.writes, ...writes] };
}

/** An observation of what the node read. Only the result of a tool can support an answer. */
function readBy(node: DoNode, content: Expr, isResult: boolean): Write {
  return append(READ, observed(node, isResult ? { ok: 'true', result: content } : { ok: 'false', error: content }));
}

const SOURCES = { wait: 'signal', model: 'agent', check: 'files', ask: 'person' };

function observed({ effect, label }: DoNode, outcome: Input): Input {
  const tool = effect.kind === 'tool' ? effect.tool : `${SOURCES[effect.kind]} ${label.name}`;
  return { id: `text(${quote(`${label.name}.`)}, size(${READ}))`, tool: quote(tool), ...outcome };
}

function readSources(node: DoNode): Write {
  const entry = object(Object.entries(observed(node, { ok: 'false', error: '"read"' })));
  return set(READ, `size(it.sections) == 0 ? ${READ} : ${READ} + [${entry}]`);
}

/** The error of a tool may quote others, and the flow may go on with it. */
function withFailures(node: DoNode, nodes: Map<NodeId, Node>, kit: Kit): DoNode {
  const noted = new Map<NodeId, NodeId>();
  const noting = (to: NodeId): NodeId => {
    const target = nodes.get(to);
    if (target?.op === 'end' && target.state === 'failed') return to;
    const known = noted.get(to);
    if (known !== undefined) return known;
    const { name, authored, enters } = node.label;
    const step = { hint: `${name}.failure`, origin: name, ...(enters === undefined ? { authored } : {}) };
    const id = kit.set(step, [readBy(node, 'error.message', false)], to);
    noted.set(to, id);
    return id;
  };
  return { ...node, failed: node.failed.map((each) => ({ ...each, to: noting(each.to) })), fail: noting(node.fail) };
}

/** The ends of the run itself that are reached after success, whole or partial. */
function endsOf(draft: Draft): readonly [NodeId, EndNode][] {
  return [...reachedFrom([draft.entry], draft, false)].flatMap((id): [NodeId, EndNode][] => {
    const node = draft.nodes.get(id);
    if (node?.op !== 'end' || node.state !== 'completed') return [];
    return node.code === 'SUCCESS' || node.code === 'PARTIAL_SUCCESS' ? [[id, node]] : [];
  });
}

interface Adding {
  readonly kit: Kit;
  readonly definitions: Definitions;
}

/** The end keeps its id, so that every route to it passes the gate. A branch that ends there does not pass the gate. */
function splitEnd(draft: Draft, [id, end]: [NodeId, EndNode], agents: readonly string[], adding: Adding): void {
  const { nodes } = draft;
  const { kit } = adding;
  const ended = kit.builder.fresh(`${id}.remembered`);
  const doubt = end.code === 'PARTIAL_SUCCESS' ? quote('the run is a partial success') : 'null';
  const first = agents.reduceRight((next, agent) => addWrite(agent, doubt, next, adding), ended);
  nodes.set(ended, end);
  const isShared = markBranches(draft, id, kit);
  const cases = isShared ? [{ when: `${IN_BRANCH} == true`, to: ended }] : [];
  nodes.set(id, { op: 'pick', label: end.label, cases, otherwise: first });
}

/** Marks every branch that can end at the node. Returns false if no branch can. */
function markBranches(draft: Draft, end: NodeId, kit: Kit): boolean {
  const { nodes } = draft;
  let found = false;
  const marked = (head: NodeId): NodeId => {
    const node = nodes.get(head);
    if (node === undefined || !reachedFrom([head], draft, false).has(end)) return head;
    found = true;
    if (node.op === 'let' && node.writes.some(({ slot }) => slot === IN_BRANCH)) return head;
    return kit.set({ hint: `${head}.branch`, origin: node.label.name }, [set(IN_BRANCH, 'true')], head);
  };
  for (const [id, node] of [...nodes]) {
    if (node.op !== 'fork') continue;
    const { over } = node;
    const next =
      'heads' in over
        ? { ...over, heads: over.heads.map((each) => ({ ...each, to: marked(each.to) })) }
        : { ...over, head: marked(over.head) };
    nodes.set(id, { ...node, over: next });
  }
  return found;
}

/** Takes the last answer of the agent through the gate. A failure of the store does not fail the run. */
function addWrite(agent: string, doubt: Expr, next: NodeId, { kit, definitions }: Adding): NodeId {
  const step = (what: string): Step => ({ hint: `${agent}.memory${what}`, origin: agent });
  const own = `${ANSWERS}.filter(a, a.agent == ${quote(agent)} && a.answer != "")`;
  const write = kit.call(
    { ...step('.write'), charges: agentMeterIds(definitions.agentBudgets, agent), onBudget: next },
    {
      effect: writeEffect(remembered(agent, doubt, definitions)),
      next,
      fail: kit.set(step('.failed'), [set('error', ERROR)], next),
    },
  );
  const last = `cel.bind(own, ${own}, size(own) == 0 ? null : own[size(own) - 1])`;
  const spoke = kit.when(step('.spoke'), `${LAST} != null`, write, next);
  return kit.set(step(''), [set(LAST, last), set(ERROR, 'error')], spoke);
}

function remembered(agent: string, doubt: Expr, definitions: Definitions): Parameters<typeof writeEffect>[0] {
  const agents = Object.keys(definitions.memory);
  const observations = `((${OBSERVATIONS} == null ? [] : ${OBSERVATIONS}) + ${READ})`;
  const untrusted = agents.map((each) => untrustedEntries(path(RECALLED, each))).join(' + ');
  const foreign = untrustedFields(definitions);
  return {
    agent,
    memory: definitions.memory[agent] as MemoryDef,
    names: { answer: `${LAST}.answer`, goal: `${LAST}.goal`, observations },
    tools: definitions.tools,
    entry: {
      goal: `${LAST}.goal`,
      answer: `${LAST}.answer`,
      citations: `${observations}.filter(o, o.ok).map(o, o.id)`,
      observations,
      userAnswers: '[]',
      recalled: `(${untrusted})`,
      known: allEntries(path(RECALLED, agent)),
      doubt,
    },
    // A goal may contain text of other agents, so only the input of the run can support an answer.
    more: { asked: 'input', ...(foreign === null ? {} : { foreign: literal(foreign) }) },
  };
}

/** The untrusted fields of the input, by any boundary of the document: agents pass on the text that they read. */
function untrustedFields({ boundary, agentBoundaries }: Definitions): true | string[] | null {
  const declared = [boundary, ...Object.values(agentBoundaries)].flatMap((each): readonly (boolean | string)[] =>
    [each?.untrusted_input ?? []].flat(),
  );
  if (declared.includes(true)) return true;
  const fields = declared.filter((each) => typeof each === 'string');
  return fields.length === 0 ? null : [...new Set(fields)];
}

/** Reads the memory of each agent before the run begins. If that fails, the run goes on without it. */
function addReads(agents: readonly string[], entry: NodeId, { kit, definitions }: Adding): NodeId {
  const first = agents.reduceRight(
    (next, agent) =>
      kit.check(
        { hint: `${agent}.recall`, origin: agent },
        {
          check: 'memory.read',
          input: readInput(agent, definitions.memory[agent] as MemoryDef, 'text(input)'),
          writes: [setField(RECALLED, [agent], 'it')],
          next,
          fail: kit.set({ hint: `${agent}.recall.failed`, origin: agent }, [set('error', 'null')], next),
        },
      ),
    entry,
  );
  const none = object(agents.map((agent) => [agent, 'null']));
  const writes = [set(RECALLED, none), set(ANSWERS, '[]'), set(READ, '[]')];
  return kit.set({ hint: 'recall', origin: 'memory' }, writes, first);
}
