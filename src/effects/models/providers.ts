/** The providers that can be named: which protocol they speak, where they are, and which variable holds the key. */
export type Protocol = 'openai' | 'openai-chat' | 'anthropic' | 'google' | 'compatible';

export interface Provider {
  readonly protocol: Protocol;
  /** Variables that may hold the key; the first that is set counts. */
  readonly keys: readonly string[];
  /** Whether it may be called without a key. */
  readonly open?: true;
  readonly baseUrl?: string;
  /** The variable that moves it to another address. */
  readonly baseUrlEnv?: string;
  /** Whether it takes a JSON Schema for the reply; the others are only told to answer in JSON. */
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
};

/** Whoever gives an address may name the provider as they like: it then speaks the protocol that most servers speak. */
export const ELSEWHERE: Provider = { protocol: 'compatible', keys: [], open: true };

/** An address without a path gets the one that its protocol has everywhere. */
export function withPath(baseUrl: string, protocol: Protocol): string {
  if (!URL.canParse(baseUrl) || new URL(baseUrl).pathname !== '/') return baseUrl;
  return `${baseUrl.replace(/\/$/, '')}/${protocol === 'google' ? 'v1beta' : 'v1'}`;
}
