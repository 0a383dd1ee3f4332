/** A model as people name it: `provider/model`, or a model whose name alone tells the provider. */
export interface ModelRef {
  readonly provider: string;
  readonly model: string;
}

const BY_NAME: readonly (readonly [RegExp, string])[] = [
  [/^(gpt|chatgpt|o[1-9])(-|$)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'google'],
];

/** The providers that are known by name. */
export const PROVIDER_NAMES: readonly string[] = [
  'openai',
  'openai.chat',
  'anthropic',
  'google',
  'groq',
  'mistral',
  'deepseek',
  'xai',
  'openrouter',
  'ollama',
  'vllm',
  'openai-compatible',
];

export function readModelRef(name: string): ModelRef | null {
  const slash = name.indexOf('/');
  if (slash > 0 && slash < name.length - 1) return { provider: name.slice(0, slash), model: name.slice(slash + 1) };
  const provider = BY_NAME.find(([pattern]) => pattern.test(name))?.[1];
  return provider === undefined ? null : { provider, model: name };
}
