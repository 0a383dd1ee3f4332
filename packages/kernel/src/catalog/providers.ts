/** The providers that a document can name, with their protocol, address and key variable; and how a model name is read. */
/** `package`: an AI SDK package that the document or the program brings. */
export type Protocol = 'openai' | 'openai-chat' | 'anthropic' | 'google' | 'compatible' | 'package' | 'a2a';

export interface Provider {
  readonly protocol: Protocol;
  /** Environment variables that may hold the key. The first one that is set is used. */
  readonly keys: readonly string[];
  /** True if the provider can be called without a key. */
  readonly open?: true;
  readonly baseUrl?: string;
  /** The environment variable that replaces `baseUrl`. */
  readonly baseUrlEnv?: string;
  /** False if the provider takes no JSON Schema for the reply. It is then only asked to answer in JSON. */
  readonly schemas?: false;
}

export const PROVIDERS: { readonly [name: string]: Provider } = {
  openai: { protocol: 'openai', keys: ['OPENAI_API_KEY'], baseUrlEnv: 'OPENAI_BASE_URL' },
  'openai.chat': { protocol: 'openai-chat', keys: ['OPENAI_API_KEY'], baseUrlEnv: 'OPENAI_BASE_URL' },
  anthropic: { protocol: 'anthropic', keys: ['ANTHROPIC_API_KEY'], baseUrlEnv: 'ANTHROPIC_BASE_URL' },
  google: {
    protocol: 'google',
    keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    baseUrlEnv: 'GOOGLE_BASE_URL',
  },
  groq: { protocol: 'compatible', keys: ['GROQ_API_KEY'], baseUrl: 'https://api.groq.com/openai/v1' },
  mistral: { protocol: 'compatible', keys: ['MISTRAL_API_KEY'], baseUrl: 'https://api.mistral.ai/v1' },
  deepseek: {
    protocol: 'compatible',
    keys: ['DEEPSEEK_API_KEY'],
    baseUrl: 'https://api.deepseek.com/v1',
    schemas: false,
  },
  xai: { protocol: 'compatible', keys: ['XAI_API_KEY'], baseUrl: 'https://api.x.ai/v1' },
  openrouter: { protocol: 'compatible', keys: ['OPENROUTER_API_KEY'], baseUrl: 'https://openrouter.ai/api/v1' },
  ollama: {
    protocol: 'compatible',
    keys: ['OLLAMA_API_KEY'],
    open: true,
    baseUrl: 'http://localhost:11434/v1',
    baseUrlEnv: 'OLLAMA_BASE_URL',
  },
  vllm: {
    protocol: 'compatible',
    keys: ['VLLM_API_KEY'],
    open: true,
    baseUrl: 'http://localhost:8000/v1',
    baseUrlEnv: 'VLLM_BASE_URL',
  },
  'openai-compatible': {
    protocol: 'compatible',
    keys: ['OPENAI_COMPATIBLE_API_KEY'],
    open: true,
    baseUrlEnv: 'OPENAI_COMPATIBLE_BASE_URL',
  },
  // A remote agent, not a model: its address is the `base_url` of the model.
  a2a: { protocol: 'a2a', keys: ['A2A_API_KEY'], open: true, baseUrlEnv: 'A2A_BASE_URL' },
};

/** The keys of all providers that are set. They are never recorded, also if a server or a tool returns one. */
export function keysIn(env: { readonly [name: string]: string | undefined }): readonly string[] {
  return Object.values(PROVIDERS).flatMap(({ keys }) => keys.flatMap((name) => env[name] ?? []));
}

/** A provider package. It finds its key and address itself, unless the document gives them. */
export const PACKAGE_PROVIDER: Provider = { protocol: 'package', keys: [], open: true };

/** Reads `@scope/name` or `npm:name`, each with or without `#factory`; null for any other provider. */
export function packageOf(provider: string): { readonly name: string; readonly factory: string | undefined } | null {
  const [, name, factory] = /^(?:npm:)?((?:@[\w.-]+\/)?[\w.-]+)(?:#(\w+))?$/.exec(provider) ?? [];
  const isPackage = provider.startsWith('@') || provider.startsWith('npm:');
  return isPackage && name !== undefined ? { name, factory } : null;
}

/** Any other provider name, together with a `base_url`: Chat Completions, the protocol that most servers speak. */
export const CUSTOM_PROVIDER: Provider = { protocol: 'compatible', keys: [], open: true };

export interface ModelRef {
  readonly provider: string;
  readonly model: string;
}

/** Reads `provider/model`, or a model name from which the provider follows, such as `gpt-5-mini`. */
export function readModelRef(name: string): ModelRef | null {
  // The name of a package in a scope contains a slash itself.
  const slash = name.indexOf('/', name.startsWith('@') ? name.indexOf('/') + 1 : 0);
  if (slash > 0 && slash < name.length - 1) return { provider: name.slice(0, slash), model: name.slice(slash + 1) };
  const provider = BY_NAME.find(([pattern]) => pattern.test(name))?.[1];
  return provider === undefined ? null : { provider, model: name };
}

/** True for models that think before they reply. Their thinking counts as output, so they need a larger limit. */
export function isReasoningModel(model: string): boolean {
  return REASONING.test(model.slice(model.lastIndexOf('/') + 1));
}

/** A name may start with a region and a vendor, as on Bedrock: `us.anthropic.claude-sonnet-4-5`. */
const REASONING =
  /thinking|reason|[-_]r1\b|(^|\.)(o[1-9](-|$)|gpt-[5-9]|gpt-oss|claude-3-7|claude-(opus|sonnet|haiku)-[4-9]|gemini-(2\.5|[3-9])|deepseek-r|grok-[3-9]|magistral|qwq|qwen-?3)/;

const BY_NAME: readonly (readonly [RegExp, string])[] = [
  [/^(gpt|chatgpt|o[1-9])(-|$)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'google'],
];
