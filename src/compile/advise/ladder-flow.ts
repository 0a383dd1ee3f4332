/** The tiers of a graph flow: agents that have nothing to choose from, and branches, questions and steps that decide nothing. */
import type { FlowBody } from '../../ir/nodes.ts';
import type { Json } from '../../expr/json.ts';
import { isDenied, isRecord, takesNothing } from './ladder-facts.ts';
import type { Authored, Excess } from './ladder-facts.ts';

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
  if (calls === 0) return [{ uses: 6, needs: 2, why: `the budget allows \`${agent.id}\` no call of a tool`, ...at }];
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

/** All ways lead to the same place, whatever was decided, said or found. */
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
      return read ? [] : [{ uses: 5, needs: 3, why: `every answer to \`${id}\` leads to the same place`, node: id }];
    }
    case 'decision':
      return routes.length < 2
        ? []
        : [{ uses: 3, needs: 2, why: `every route of \`${id}\` leads to the same place`, node: id }];
    case 'agent':
      return routes.length < 2
        ? []
        : [
            {
              uses: 4,
              needs: 2,
              why: `whatever \`${id}\` says, the flow goes on at \`${String(last['to'])}\``,
              node: id,
            },
          ];
    default:
      return [];
  }
}

/** Agents one after the other, of which the last is told nothing of what the others said. */
function chainExcess(body: FlowBody, nodes: readonly Authored[]): readonly Excess[] {
  const plain = nodes.every(
    ({ type, agent, routes, on_error: caught }) =>
      type === 'agent' && body.agents[String(agent)]?.tools.length === 0 && onlyWay(routes) && caught === undefined,
  );
  if (nodes.length < 2 || !plain) return [];
  const last = nodes.find(({ routes }) => !Array.isArray(routes) || routes.length === 0);
  const told = last?.['input'];
  if (last === undefined || !isRecord(told) || JSON.stringify(told).includes('{{')) return [];
  const why = `\`${String(last['id'])}\` reads nothing of what the agents before it say`;
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
