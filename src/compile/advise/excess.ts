/**
 * Finds parts of a document that use a higher tier of autonomy than they need, as far as the document alone proves it. Each
 * finding has the tier that is used, the lower tier that is enough, and the reason. It considers only the document, not the
 * task: for example, an agent without tools makes no choices.
 */
import type { Lowered } from '../lower/builder-types.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import type { ReadDocument } from '../document/document.ts';
import type { FlowBody } from '../../ir/nodes.ts';
import { isRecord, type Json } from '../../expr/json.ts';
import { isCatchAll, type Flow, type FlowNode, type RouteValue } from '../notations/flow/model.ts';
import type { Step, Workflow } from '../notations/workflow/model.ts';
import { plain, type Located } from '../source/located.ts';

/** At most one finding: the lowest tier that is enough. */
export function loopExcess(body: FlowBody): readonly Excess[] {
  const agents = Object.values(body.agents);
  const tier = agents.length <= 1 ? 1 : 2;
  const found = (needs: Excess['needs'], why: string): readonly Excess[] => [{ uses: 6, needs, why }];
  if (agents.every(({ tools }) => tools.length === 0))
    return found(tier, tier === 1 ? 'the agent of this loop has no tools' : 'no agent of this loop has tools');
  const callable = agents.flatMap(({ id, tools }) => tools.filter((tool) => !isDenied(body, id, tool)));
  const [only] = callable;
  if (only === undefined) return found(tier, 'the boundary denies every tool of this loop');
  const calls = limitOf(body, 'budget.toolCalls');
  if (calls === 0) return found(tier, 'the budget allows no tool call');
  if (limitOf(body, 'steps') === 1) return found(1, 'the budget allows a single turn');
  if (callable.length === 1 && takesNothing(body, only))
    return found(3, `this loop can only call \`${only}\`, which takes no arguments`);
  return calls === 1 ? found(4, 'the budget allows one tool call, which is one branch') : [];
}

function limitOf({ meters }: FlowBody, id: string): number | null {
  return meters[id]?.max ?? null;
}

export function workflowExcess(body: FlowBody, { steps }: Workflow): readonly Excess[] {
  return [...steps.flatMap((_, index) => stepExcess(body, steps, index)), ...stepsExcess(body, steps)];
}

function stepExcess(body: FlowBody, steps: readonly Step[], index: number): readonly Excess[] {
  const { name, mode, iterations } = steps[index] as Step;
  const node = Object.hasOwn(body.nodes, name) ? { node: name } : {};
  if (mode === 'Loop' && iterations === 1)
    return [{ uses: 4, needs: 2, why: `\`${name}\` is repeated at most once`, ...node }];
  const after = steps[index + 1]?.mode;
  const alone = after !== 'FanOut' && after !== 'Collect' && steps[index - 1]?.mode !== 'FanOut';
  return mode === 'FanOut' && alone
    ? [{ uses: 3, needs: 2, why: `\`${name}\` is the only step that fans out here`, ...node }]
    : [];
}

/** A chain without tools whose last step uses no earlier result. */
function stepsExcess(body: FlowBody, steps: readonly Step[]): readonly Excess[] {
  const isPlain = steps.every(({ mode }) => mode === 'Sequential');
  const toolless = Object.values(body.agents).every(({ tools }) => tools.length === 0);
  const reads = steps.at(-1)?.prompt.some((piece) => 'name' in piece || piece.text.includes('{{')) ?? true;
  if (steps.length < 2 || !isPlain || !toolless || reads) return [];
  return [{ uses: 2, needs: 1, why: 'the last step reads no result of the steps before it' }];
}

export function teamExcess(body: Located): readonly Excess[] {
  const authored = plain(body) as { readonly [field: string]: Json };
  const agents = Array.isArray(authored['Agents']) ? authored['Agents'] : [];
  const selection = isRecord(authored['Selection']) ? authored['Selection'] : {};
  if (selection['Type'] === 'llm' && agents.length === 1)
    return [{ uses: 4, needs: 2, why: 'a model chooses the next agent, but there is only one' }];
  const graph = isRecord(selection['Graph']) ? selection['Graph'] : {};
  const edges = Array.isArray(graph['Edges']) ? graph['Edges'].filter(isRecord) : [];
  const froms = edges.map((edge) => edge['From']);
  const fixed = edges.every((edge) => Object.keys(edge).every((key) => key === 'From' || key === 'To'));
  const whole = edges.length > 0 && graph['SubGraphs'] === undefined;
  if (selection['Type'] === 'graph' && whole && fixed && new Set(froms).size === froms.length)
    return [{ uses: 4, needs: 2, why: 'every node of this graph has one edge, which is always taken' }];
  return [];
}

export interface Excess {
  readonly uses: 2 | 3 | 4 | 5 | 6;
  readonly needs: 1 | 2 | 3 | 4 | 5;
  readonly why: string;
  /** The node that it is about. Default: the whole document. */
  readonly node?: string;
}

function isDenied({ boundaries }: FlowBody, agent: string, tool: string): boolean {
  const boundary = boundaries !== undefined && Object.hasOwn(boundaries, agent) ? boundaries[agent] : undefined;
  return boundary?.tools.deny.includes(tool) ?? false;
}

function takesNothing({ tools }: FlowBody, name: string): boolean {
  const input = Object.hasOwn(tools, name) ? tools[name]?.input : undefined;
  if (input === undefined || !isRecord(input)) return false;
  return input['additionalProperties'] === false && Object.keys((input['properties'] ?? {}) as object).length === 0;
}

export function flowExcess(body: FlowBody, flow: Flow): readonly Excess[] {
  const nodes = [...flow.nodes.values()];
  return [
    ...nodes.flatMap((node) => agentExcess(body, node)),
    ...nodes.flatMap((node) => branchExcess(nodes, node)),
    ...chainExcess(body, nodes),
  ];
}

function agentExcess(body: FlowBody, { id, value, facts }: FlowNode): readonly Excess[] {
  const agent = body.agents[facts.lastAgent?.(value) ?? ''];
  if (agent === undefined || agent.tools.length === 0) return [];
  const found = (needs: Excess['needs'], why: string): readonly Excess[] => [{ uses: 6, needs, why, node: id }];
  const tools = agent.tools.filter((tool) => !isDenied(body, agent.id, tool));
  const [only] = tools;
  if (only === undefined) return found(2, `the boundary denies every tool of \`${agent.id}\``);
  const calls = limitOf(body, `budget.toolCalls@${agent.id}`) ?? limitOf(body, 'budget.toolCalls');
  if (calls === 0) return found(2, `the budget allows \`${agent.id}\` no tool call`);
  if (tools.length === 1 && takesNothing(body, only))
    return found(3, `the agent \`${agent.id}\` can only call \`${only}\`, which takes no arguments`);
  return [];
}

/** A choice whose routes all lead to the same node. */
function branchExcess(nodes: readonly FlowNode[], node: FlowNode): readonly Excess[] {
  const { id, value } = node;
  const { routes } = value;
  const last = routes.at(-1);
  if (last === undefined || !isAlways(last) || routes.some(({ to }) => to !== last.to)) return [];
  switch (value.type) {
    case 'approval': {
      const others = nodes.filter((each) => each !== node).map((each) => each.value);
      const read = JSON.stringify(others).includes(`approvals.${id}`);
      return read ? [] : [{ uses: 5, needs: 3, why: `every answer to \`${id}\` leads to the same node`, node: id }];
    }
    case 'decision':
      if (routes.length < 2) return [];
      return [{ uses: 3, needs: 2, why: `every route of \`${id}\` leads to the same node`, node: id }];
    case 'agent':
      if (routes.length < 2) return [];
      return [{ uses: 4, needs: 2, why: `every route of \`${id}\` leads to \`${last.to}\``, node: id }];
    default:
      return [];
  }
}

/** A chain of agents whose last one reads no earlier output. */
function chainExcess(body: FlowBody, nodes: readonly FlowNode[]): readonly Excess[] {
  const isPlain = nodes.every(({ value: { type, routes, on_error: caught }, facts, value }) => {
    const toolless = body.agents[facts.lastAgent?.(value) ?? '']?.tools.length === 0;
    return type === 'agent' && toolless && routes.length <= 1 && routes.every(isAlways) && caught.length === 0;
  });
  const last = nodes.find(({ value }) => value.routes.length === 0);
  const input = last?.located('input');
  if (nodes.length < 2 || !isPlain || last === undefined || input?.kind !== 'map') return [];
  if (JSON.stringify(plain(input)).includes('{{')) return [];
  return [{ uses: 2, needs: 1, why: `\`${last.id}\` reads no output of the agents before it`, node: last.id }];
}

function isAlways(route: RouteValue): boolean {
  return isCatchAll(route) || route.when?.trim() === 'true';
}

/** By tier, from 1. The seventh, an open-ended loop, has no document: every flow is bounded. */
const LADDER = {
  1: { name: 'direct response', by: 'one model call' },
  2: { name: 'prompt chain', by: '`workflow` with sequential steps' },
  3: { name: 'deterministic workflow', by: '`flow` with tool and decision nodes' },
  4: { name: 'conditional graph', by: '`flow` with routes over outputs' },
  5: { name: 'supervised loop', by: '`loop` with approvals' },
  6: { name: 'bounded loop', by: '`loop` with budgets' },
} as const;

export function warnOfTier(
  excess: readonly Excess[],
  { places }: Lowered,
  document: ReadDocument,
  report: Report,
): void {
  for (const { uses, needs, why, node } of excess) {
    const at = (node === undefined ? undefined : places.get(node)) ?? document.at;
    report.warning(
      'simpler-tier',
      at,
      `${why}: this is tier ${uses} (${LADDER[uses].name}), and tier ${needs} (${LADDER[needs].name}) is enough`,
      { help: `Use ${LADDER[needs].by}.` },
    );
  }
}
