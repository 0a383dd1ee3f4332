/** The settings of an agent's replies: the author's, else those of the model, else those that the budgets need. */
import { isReasoningModel } from '@sluice-internal/kernel/catalog';
import { present } from '@sluice-internal/kernel/expr';
import type { AgentDef, CallSettings } from '@sluice-internal/kernel/ir';
import type { ModelEntry } from './model-table.ts';
import type { Budgets } from './schema/bounds.ts';

const OUTPUT_TOKENS_DEFAULT = 4_096;
const REASONING_OUTPUT_TOKENS_MAX = 32_768;

/**
 * The author's settings of an agent come first, then those of its model. A reply that reaches a cap which the author did not
 * set is continued once.
 */
export function replySettings(
  given: {
    readonly maxOutputTokens?: number | undefined;
    readonly temperature?: number | undefined;
    readonly reasoningEffort?: CallSettings['reasoningEffort'] | undefined;
  },
  budgets: Budgets | undefined,
  model: ModelEntry | undefined,
): Pick<AgentDef, 'maxOutputTokens' | 'continuations' | 'temperature'> {
  const temperature = given.temperature ?? model?.temperature ?? null;
  const written = given.maxOutputTokens ?? model?.limits?.max_output_tokens;
  if (written !== undefined) return { maxOutputTokens: written, temperature };
  const maxOutputTokens = defaultOutputTokens(budgets, model, given.reasoningEffort);
  return { maxOutputTokens, ...(maxOutputTokens === null ? {} : { continuations: 1 }), temperature };
}

/** The author's settings, or an empty object. */
export function settingsOf(given: {
  readonly [name in keyof CallSettings]: CallSettings[name] | undefined;
}): Pick<AgentDef, 'settings'> {
  const settings: CallSettings = present(given);
  return Object.keys(settings).length === 0 ? {} : { settings };
}

/**
 * The limit of one reply if the author sets none. A budget for output tokens or money needs a limit to reserve. A reasoning
 * model gets up to a quarter of the budget, because its thinking counts as output.
 */
function defaultOutputTokens(
  budgets: Budgets | undefined,
  model: ModelEntry | undefined,
  effort: CallSettings['reasoningEffort'],
): number | null {
  const { output_tokens: tokens, cost_usd: usd, tokens: total } = budgets ?? {};
  // A reply takes at most a quarter of all tokens, so that a call fits at all.
  if (total !== undefined) return Math.min(OUTPUT_TOKENS_DEFAULT, Math.max(1, Math.floor(total / 4)));
  if (tokens === undefined && usd === undefined) return null;
  if (!reasons(model, effort)) return OUTPUT_TOKENS_DEFAULT;
  const price = model?.price?.output ?? 0;
  const affordable = usd === undefined || price === 0 ? Infinity : (usd * 1_000_000) / price;
  const share = Math.floor(Math.min(tokens ?? Infinity, affordable) / 4);
  return Math.max(OUTPUT_TOKENS_DEFAULT, Math.min(REASONING_OUTPUT_TOKENS_MAX, share));
}

/** By the name of the model, or because the author asks for reasoning. */
function reasons(model: ModelEntry | undefined, effort: CallSettings['reasoningEffort']): boolean {
  if (effort !== undefined) return effort !== 'none';
  const options = Object.keys(model?.options ?? {});
  return (
    options.some((name) => /^(reasoning|thinking)/.test(name)) || (model !== undefined && isReasoningModel(model.model))
  );
}
