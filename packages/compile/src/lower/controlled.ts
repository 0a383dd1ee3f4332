/** The controls of a tool call: of an agent's, and of a node of the author. */
import { controlsOf } from '@sluice-internal/controls';
import type { ProposedCall } from '@sluice-internal/controls';
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { BoundaryDef, Controls, Expr, Input, NodeId } from '@sluice-internal/kernel/ir';
import { approversOfTool } from '../document/people.ts';
import { strictExpr, withInputFields } from '../expressions/reads.ts';
import { rewriteNames } from '../expressions/rewrite.ts';
import type { Builder } from './builder-types.ts';
import { REMARKS } from './guidance.ts';
import { set, type Kit } from './kit.ts';
import { outcomeOf } from './agent-turn/outcome.ts';
import { CALL, OBSERVATIONS, asksPeople, type AgentTurn } from './agent-turn/turn.ts';

/** Where a call goes that a control has refused. */
export interface RefusedWays {
  readonly refused: NodeId;
  readonly stopped: NodeId;
}

export function controlsOfCall(
  kit: Kit,
  turn: AgentTurn,
  boundary: BoundaryDef,
  tool: string,
  ways: RefusedWays,
): Controls {
  const { builder } = kit;
  const { agent, tools, stage, input, user = 'input', recalled, withheld, remembered } = turn;
  const walk = controlsOf(
    {
      ...commonOf(builder, tool, agent),
      args: `${CALL}.args`,
      agent: {
        name: agent,
        tools,
        toolDef: builder.toolDef,
        people: asksPeople(kit, turn),
        sources: {
          user,
          people: REMARKS,
          observations: OBSERVATIONS,
          ...present({ prompt: input['prompt'], recalled, withheld }),
        },
        raw: `${CALL}.raw`,
        observations: OBSERVATIONS,
        condition: conditionOf,
        ...present({ stage, remembered }),
      },
    },
    boundary,
  );
  return { walk, args: [CALL, 'args'], inOrder: true, ...ways };
}

interface NodeCall {
  readonly tool: string;
  readonly args: Expr;
  readonly askedBy: string;
  /** The arguments whose sources are traced. */
  readonly traced?: Input | undefined;
}

/** A node of the author passes the controls that others set. Undefined if there are none. */
export function controlsOfNode({ builder }: Kit, { tool, args, askedBy, traced }: NodeCall): Controls | undefined {
  const { untrusted = 'ask' } = builder.definitions.boundary ?? {};
  const call = { ...commonOf(builder, tool, askedBy), args, agent: null, ...present({ traced }) };
  const walk = controlsOf(call, { ...AUTHORED, untrusted });
  return walk.length === 0 ? undefined : { walk };
}

const AUTHORED = {
  version: '',
  profile: null,
  decisions: [],
  tools: { allow: [], approve: [], deny: [] },
  escalation: {},
  failClosed: [],
} as const;

function commonOf(builder: Builder, tool: string, askedBy: string): Omit<ProposedCall, 'args' | 'agent' | 'traced'> {
  const { definitions } = builder;
  const { budgets, toolCosts, toolApprovals, toolsUnasked, tools } = definitions;
  return {
    tool,
    def: builder.toolDef(tool),
    cost: toolCosts[tool] ?? 0,
    askedBy,
    ...approversOfTool(definitions, tool),
    approvalTimeoutMs: builder.approvalTimeoutMs(askedBy),
    budgets: JSON.parse(JSON.stringify(budgets ?? {})) as Json,
    hasPolicies: builder.hasPolicies(),
    hasSecrets: Object.values(tools).some(({ confidential }) => confidential === true),
    needsApproval: toolApprovals.has(tool),
    unasked: toolsUnasked.has(tool),
  };
}

function conditionOf(source: Expr, names: { readonly [name: string]: Expr }): Expr {
  const renamed = rewriteNames(source, ([root = '']) => (Object.hasOwn(names, root) ? (names[root] as Expr) : null));
  return strictExpr(withInputFields(renamed));
}

/** The agent reads why its call was refused, and the turn goes on. */
export function addRefused(kit: Kit, { agent, hint, origin }: AgentTurn, next: NodeId): NodeId {
  const outcome = { ok: 'false', error: '_refusal.reason', refused: '_refusal.step' };
  const content = 'text("[", _refusal.tag, "] ", _refusal.reason)';
  const writes = [...outcomeOf(agent, content, outcome), set('error', 'null')];
  return kit.set({ hint: `${hint}.refused`, origin }, writes, next);
}
