/** What a call may use at worst, as far as that is known before any run. */
import type { AgentDef, Amounts, ToolDef } from '../../ir/nodes.ts';
import type { Definitions } from './definitions.ts';

export function reserveOfModel(agent: AgentDef | undefined, definitions: Definitions): Amounts {
  const outputTokens = agent?.maxOutputTokens ?? null;
  if (outputTokens === null) return { modelCalls: 1 };
  const price = definitions.models.find(agent?.model ?? null)?.price;
  const costMicros = price === undefined ? 0 : Math.ceil(outputTokens * price.output);
  return { modelCalls: 1, outputTokens, ...(costMicros > 0 ? { costMicros } : {}) };
}

export function reserveOfTool(tool: ToolDef | undefined, costUsd: number | undefined): Amounts {
  const how = tool?.implementation ?? null;
  // A started millionth counts whole; what multiplying decimals adds to it is none.
  const costMicros = Math.ceil(Number(((costUsd ?? 0) * 1_000_000).toFixed(3)));
  // Networked, or paid: what carries it out says so, or the author does where nobody carries it out but a script.
  const networked = how !== null && typeof how === 'object' && ('http' in how || 'mcp' in how);
  const outside = networked || tool?.category === 'live_api' || costMicros > 0;
  return {
    toolCalls: 1,
    ...(outside ? { externalCalls: 1 } : {}),
    ...(tool?.effect === 'read' ? {} : { sideEffects: 1 }),
    ...(costMicros > 0 ? { costMicros } : {}),
  };
}
