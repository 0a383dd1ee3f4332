/**
 * Finds parts of a document that use a higher tier of autonomy than they need, as far as the document alone proves it. Each
 * finding has the tier that is used, the lower tier that is enough, and the reason.
 */
import type { FlowBody } from '../../ir/nodes.ts';
import { isRecord } from '../../expr/json.ts';
import type { Json } from '../../expr/json.ts';

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

export function workflowExcess(body: FlowBody, { steps = [] }: Authored): readonly Excess[] {
  if (!Array.isArray(steps)) return [];
  const list = steps.map((step) => (isRecord(step) ? step : {}));
  return [...list.flatMap((_, index) => stepExcess(body, list, index)), ...stepsExcess(body, list)];
}

function stepExcess(body: FlowBody, steps: readonly Authored[], index: number): readonly Excess[] {
  const step = steps[index] ?? {};
  const name = typeof step['name'] === 'string' ? step['name'] : `step ${index + 1}`;
  const node = Object.hasOwn(body.nodes, name) ? { node: name } : {};
  const mode = modeOf(step);
  if (mode === 'loop' && iterationsOf(step) === 1)
    return [{ uses: 4, needs: 2, why: `\`${name}\` is repeated at most once`, ...node }];
  const after = modeOf(steps[index + 1]);
  const alone = after !== 'fanout' && after !== 'collect' && modeOf(steps[index - 1]) !== 'fanout';
  return mode === 'fanout' && alone
    ? [{ uses: 3, needs: 2, why: `\`${name}\` is the only step that fans out here`, ...node }]
    : [];
}

/** A chain without tools whose last step uses no earlier result. */
function stepsExcess(body: FlowBody, steps: readonly Authored[]): readonly Excess[] {
  const last = steps.at(-1) ?? {};
  const prompt = last['prompt'] ?? last['prompt_template'];
  const plain = steps.every((step) => ['sequential', ''].includes(modeOf(step)));
  const toolless = Object.values(body.agents).every(({ tools }) => tools.length === 0);
  if (steps.length < 2 || !plain || !toolless || typeof prompt !== 'string' || prompt.includes('{{')) return [];
  return [{ uses: 2, needs: 1, why: 'the last step reads no result of the steps before it' }];
}

export function teamExcess(authored: Authored): readonly Excess[] {
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

function modeOf(step: Authored | undefined): string {
  const mode = step?.['mode'];
  const word = isRecord(mode) ? (Object.keys(mode)[0] ?? '') : typeof mode === 'string' ? mode : '';
  return word.toLowerCase().replace('_', '');
}

function iterationsOf(step: Authored): Json {
  const mode = step['mode'];
  const inner = isRecord(mode) ? Object.values(mode)[0] : undefined;
  return (isRecord(inner) ? inner['max_iterations'] : undefined) ?? step['max_iterations'] ?? null;
}

export interface Excess {
  readonly uses: 2 | 3 | 4 | 5 | 6;
  readonly needs: 1 | 2 | 3 | 4 | 5;
  readonly why: string;
  /** The node that it is about. Default: the whole document. */
  readonly node?: string;
}

/** The body of the notation, as plain data. */
export type Authored = { readonly [field: string]: Json };

function isDenied({ boundaries }: FlowBody, agent: string, tool: string): boolean {
  const boundary = boundaries !== undefined && Object.hasOwn(boundaries, agent) ? boundaries[agent] : undefined;
  return boundary?.tools.deny.includes(tool) ?? false;
}

function takesNothing({ tools }: FlowBody, name: string): boolean {
  const input = Object.hasOwn(tools, name) ? tools[name]?.input : undefined;
  if (input === undefined || !isRecord(input)) return false;
  return input['additionalProperties'] === false && Object.keys((input['properties'] ?? {}) as object).length === 0;
}

export function flowExcess(body: FlowBody, authored: Authored): readonly Excess[] {
  const nodes = Array.isArray(authored['nodes']) ? authored['nodes'].filter(isRecord) : [];
  return [
    ...nodes.flatMap((node) => agentExcess(body, node)),
    ...nodes.flatMap((node) => branchExcess(authored, node)),
    ...chainExcess(body, nodes),
  ];
}

function agentExcess(body: FlowBody, node: Authored): readonly Excess[] {
  const agent = node['type'] === 'agent' ? body.agents[String(node['agent'])] : undefined;
  if (agent === undefined || agent.tools.length === 0) return [];
  const at = { node: String(node['id']) };
  const tools = agent.tools.filter((tool) => !isDenied(body, agent.id, tool));
  const [only] = tools;
  if (only === undefined)
    return [{ uses: 6, needs: 2, why: `the boundary denies every tool of \`${agent.id}\``, ...at }];
  const calls = body.meters[`budget.toolCalls@${agent.id}`]?.max ?? body.meters['budget.toolCalls']?.max ?? null;
  if (calls === 0) return [{ uses: 6, needs: 2, why: `the budget allows \`${agent.id}\` no tool call`, ...at }];
  if (tools.length === 1 && takesNothing(body, only))
    return [
      {
        uses: 6,
        needs: 3,
        why: `the agent \`${agent.id}\` can only call \`${only}\`, which takes no arguments`,
        ...at,
      },
    ];
  return [];
}

/** A choice whose routes all lead to the same node. */
function branchExcess(flow: Authored, node: Authored): readonly Excess[] {
  const routes = Array.isArray(node['routes']) ? node['routes'].filter(isRecord) : [];
  const id = String(node['id']);
  const last = routes.at(-1);
  if (last === undefined || !isCatchAll(last['when'])) return [];
  const same = routes.every(({ to }) => to === last['to']);
  if (!same) return [];
  switch (node['type']) {
    case 'approval': {
      const read = JSON.stringify(without(flow, id)).includes(`approvals.${id}`);
      return read ? [] : [{ uses: 5, needs: 3, why: `every answer to \`${id}\` leads to the same node`, node: id }];
    }
    case 'decision':
      return routes.length < 2
        ? []
        : [{ uses: 3, needs: 2, why: `every route of \`${id}\` leads to the same node`, node: id }];
    case 'agent':
      return routes.length < 2
        ? []
        : [
            {
              uses: 4,
              needs: 2,
              why: `every route of \`${id}\` leads to \`${String(last['to'])}\``,
              node: id,
            },
          ];
    default:
      return [];
  }
}

/** A chain of agents whose last one reads no earlier output. */
function chainExcess(body: FlowBody, nodes: readonly Authored[]): readonly Excess[] {
  const plain = nodes.every(
    ({ type, agent, routes, on_error: caught }) =>
      type === 'agent' && body.agents[String(agent)]?.tools.length === 0 && onlyWay(routes) && caught === undefined,
  );
  if (nodes.length < 2 || !plain) return [];
  const last = nodes.find(({ routes }) => !Array.isArray(routes) || routes.length === 0);
  const input = last?.['input'];
  if (last === undefined || !isRecord(input) || JSON.stringify(input).includes('{{')) return [];
  const why = `\`${String(last['id'])}\` reads no output of the agents before it`;
  return [{ uses: 2, needs: 1, why, node: String(last['id']) }];
}

function onlyWay(routes: Json | undefined): boolean {
  if (routes === undefined) return true;
  return (
    Array.isArray(routes) && routes.length <= 1 && routes.every((each) => isRecord(each) && isCatchAll(each['when']))
  );
}

function isCatchAll(when: Json | undefined): boolean {
  return when === undefined || (typeof when === 'string' && ['', 'default', 'true'].includes(when.trim()));
}

function without(flow: Authored, id: string): Json {
  const nodes = Array.isArray(flow['nodes']) ? flow['nodes'] : [];
  return nodes.filter((node) => !isRecord(node) || node['id'] !== id);
}
