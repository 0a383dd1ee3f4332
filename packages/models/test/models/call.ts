/** One model call as the worker would make it, outside of any run. */
import type { AgentDef, CompiledFlow, Settled, ToolDef } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { failureOf, realClock } from '@sluice-internal/engine/ports';
import type { Call, Clock } from '@sluice-internal/engine/ports';
import { modelPerformer } from '../../src/performer.ts';
import type { ModelPerformerOptions } from '../../src/performer.ts';

export interface Given {
  readonly models: { readonly [alias: string]: Json };
  readonly agent?: Partial<AgentDef>;
  readonly tools?: { readonly [name: string]: Partial<ToolDef> };
  readonly input?: { readonly [field: string]: Json };
  readonly standIn?: string;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly onText?: Call['onText'];
}

export const KEYS = {
  OPENAI_API_KEY: 'sk-openai-secret-000001',
  ANTHROPIC_API_KEY: 'sk-ant-secret-000002',
  GEMINI_API_KEY: 'AIza-google-secret-000003',
};

export function flowOf({ models, agent = {}, tools = {} }: Given): CompiledFlow {
  const def: AgentDef = {
    id: 'writer',
    name: 'writer',
    model: 'm',
    instructions: 'Be brief.',
    tools: Object.keys(tools),
    output: null,
    maxOutputTokens: 100,
    temperature: null,
    ...agent,
  };
  return { agents: { writer: def }, models, tools, nodes: {}, meters: {} } as unknown as CompiledFlow;
}

/** Never rejects, as the worker never lets a call do. */
export async function call(given: Given, options: ModelPerformerOptions = {}): Promise<Settled> {
  const {
    input = { prompt: 'Hello?' },
    standIn,
    signal = new AbortController().signal,
    clock = realClock,
    onText,
  } = given;
  const command = {
    run: 'r_1',
    key: '0#0',
    attempt: 1,
    ordinal: 0,
    kind: 'model',
    name: 'writer',
    node: 'n',
    ...(standIn === undefined ? {} : { model: standIn }),
    input,
    notBefore: 0,
    deadline: null,
  } as const;
  try {
    return await modelPerformer({ env: KEYS, ...options }).perform({
      command,
      flow: flowOf(given),
      idempotencyKey: 'k',
      signal,
      clock,
      onText,
    });
  } catch (error) {
    return { ok: false, error: failureOf(error) };
  }
}
