/** The graph notation: reads a flow, checks it, and lowers it. */
import { isDenied, limitOf, takesNothing } from '@sluice-internal/compile/rules';
import type { LoweredDocument, Notation, Excess } from '@sluice-internal/compile/rules';
import { childOf, textOf, plain } from '@sluice-internal/compile/source';
import type { Report } from '@sluice-internal/compile/source';
import type { Definitions, ReadDocument } from '@sluice-internal/compile/document';
import type { FlowBody } from '@sluice-internal/kernel/ir';
import { adaptDocument } from './adapt.ts';
import { analyse, checkUncalled } from './analyse.ts';
import { lowerGraph } from './lower.ts';
import { flowSchema } from './schema.ts';
import { mergeDefinitions } from './sub-definitions.ts';
import { FLOW_KEYS } from './sub-flows.ts';
import { isCatchAll, type Flow, type FlowNode, type RouteValue } from './model.ts';

export const flowNotation: Notation = {
  ...FLOW_KEYS,
  adapt: adaptDocument,
  schema: flowSchema,
  limits: ['depth'],
  lower: lowerFlow,
};

function lowerFlow(document: ReadDocument, definitions: Definitions, report: Report): LoweredDocument {
  const { file } = report.source;
  const key = file.slice(file.lastIndexOf('/') + 1);
  const name = textOf(childOf(document.body, 'id')) ?? key;
  const standing = { document, definitions, report, folder: '', chain: [{ key, name }] };
  const flow = analyse(standing);
  if (flow === null) return { lowered: null, picture: null };
  checkUncalled(flow, standing);
  const { picture } = flow;
  const merged = mergeDefinitions(flow);
  const known = merged.definitions;
  if (report.failed()) return { lowered: null, picture, known };
  const lowered = lowerGraph(flow, merged);
  return { lowered, picture, known, excess: flowExcess(lowered.body, flow.flow) };
}

/** Finds nodes that a lower tier of autonomy can replace. */
function flowExcess(body: FlowBody, flow: Flow): readonly Excess[] {
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
