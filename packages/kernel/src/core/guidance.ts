/**
 * What people say to the agents of a run while it goes on. A remark is heard once: by the agent that it names, or by the first agent
 * of the run that comes to a place where it hears. Its words are then in the slots of that thread, so a later request has them.
 */
import { isRecord } from '../expr/json.ts';
import type { Json } from '../expr/json.ts';
import { numbersIn, wordIn } from '../expr/words.ts';
import type { EventBody, Fact, Pending, Refusal, Remark, RunState } from '../ir/events.ts';
import type { DoNode, Node, NodeId } from '../ir/nodes.ts';
import { evaluateInput, nodeAt, recordWrites } from './program.ts';
import type { Program, Visit } from './program.ts';
import { isStopping, stopping } from './state.ts';
import { controlInput } from './walk.ts';

type Guide = Extract<Fact, { type: 'guide' }>;

export function guide({ flow }: Program, state: RunState, { by, text, agent }: Guide): readonly EventBody[] | Refusal {
  if (isStopping(state)) return stopping(state);
  const refused = (message: string): Refusal => ({ refused: 'bad-guidance', message });
  if (text.trim() === '') return refused('the remark has no words');
  if (Object.hasOwn(flow.agents, by)) return refused(`\`${by}\` is an agent of the run, and only people guide`);
  const hearing = hearers(flow.nodes);
  if (hearing.length === 0) return refused('no agent of this run hears remarks');
  if (agent !== null && !hearing.includes(agent))
    return refused(`no agent \`${agent}\` hears remarks: ${hearing.map((name) => `\`${name}\``).join(', ')} can`);
  return [{ type: 'guidance.given', by, text, agent }];
}

/** The agents that hear remarks, in the order of the graph. */
function hearers(nodes: { readonly [id: NodeId]: Node }): readonly string[] {
  return [...new Set(Object.values(nodes).flatMap(({ hears }) => hears?.agent ?? []))];
}

/** The oldest remark that the agent of this node has to hear before the node does anything. */
export function hear({ program, state, thread, node }: Visit): EventBody | null {
  const { hears } = node;
  if (state.remarks === undefined || hears === undefined || thread.walk !== undefined) return null;
  const { agent } = hears;
  const remark = state.remarks.find((each) => each.heard !== true && (each.agent ?? agent) === agent);
  if (remark === undefined) return null;
  const writes = recordWrites(program, hears.writes, thread.slots, remarkData(remark));
  return { type: 'guidance.heard', thread: thread.id, node: thread.at, of: remark.seq, agent, writes };
}

/** A remark as the writes of a node see it. */
export function remarkData({ seq, by, text }: Remark): Json {
  return { seq, by, text };
}

/** A value of the calls that this question is about, if a remark has it and the input of the run does not. Null if there is none. */
export function guidedValue(
  program: Program,
  state: RunState,
  pending: Pending,
  remarks: readonly Remark[],
): string | null {
  const values = argumentsAhead(program, state, pending).flatMap(leavesOf);
  const given = leavesOf(state.input).map(String);
  const has = (texts: readonly string[], value: Leaf): boolean => texts.some((text) => says(text, value));
  const words = remarks.map(({ text }) => text);
  const found = values.find((value) => has(words, value) && !has(given, value));
  return found === undefined ? null : String(found);
}

/** The arguments of the call that is asked about; else those of the author's calls up to the next question, as far as they are known. */
function argumentsAhead(program: Program, state: RunState, pending: Pending): readonly Json[] {
  const thread = state.threads.get(pending.thread);
  if (thread === undefined) return [];
  const asked =
    pending.control === undefined
      ? evaluateInput(program, (nodeAt(program, pending.node) as DoNode).effect.input, thread.slots)
      : controlInput(program, state, pending);
  if (asked['args'] !== undefined) return [asked['args']];
  return callsAfter(program, pending.node).flatMap(({ effect }) => {
    try {
      return [evaluateInput(program, effect.input, thread.slots)['args'] ?? null];
    } catch {
      return [];
    }
  });
}

function callsAfter(program: Program, from: NodeId): readonly DoNode[] {
  const seen = new Set<NodeId>([from]);
  const calls: DoNode[] = [];
  const open = [...nextOf(nodeAt(program, from))];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const node = nodeAt(program, id);
    if (node.op === 'do' && node.effect.kind === 'ask') continue;
    if (node.op === 'do' && node.effect.kind === 'tool') calls.push(node);
    open.push(...nextOf(node));
  }
  return calls;
}

function nextOf(node: Node): readonly NodeId[] {
  switch (node.op) {
    case 'let':
    case 'do':
      return [node.next];
    case 'pick':
      return [...node.cases.map(({ to }) => to), node.otherwise];
    case 'fork':
      return ['heads' in node.over ? node.over.heads.map(({ to }) => to) : node.over.head, node.next].flat();
    case 'end':
      return [];
  }
}

type Leaf = string | number;

function leavesOf(value: Json): readonly Leaf[] {
  if (typeof value === 'string' || typeof value === 'number') return value === '' ? [] : [value];
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  return isRecord(value) ? Object.values(value).flatMap(leavesOf) : [];
}

/** The text has the value as a word of its own, a number also in another spelling. */
function says(text: string, value: Leaf): boolean {
  if (wordIn(text.toLowerCase(), String(value).trim().toLowerCase()) >= 0) return true;
  const number = typeof value === 'number' ? value : /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : null;
  return number !== null && numbersIn(text).includes(number);
}
