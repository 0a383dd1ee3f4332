/** Uses AI SDK models of the specifications v2, v3 and v4 alike, as v4. */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4Warning,
} from '@ai-sdk/provider';
import type { ModelObject } from './model-object.ts';
import { tokenUsage } from './reply.ts';

export function adapt(object: ModelObject): LanguageModelV4 {
  const model = object as unknown as LanguageModelV4;
  if (object.specificationVersion === 'v4') return model;
  // The older specifications differ in the fields that are converted here, and are the same in all others.
  const older = model as unknown as OlderModel;
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: async (options) => {
      const result = await older.doGenerate(optionsFor(options));
      return {
        ...result,
        warnings: warningsOf(result.warnings, options),
        finishReason: finishOf(result.finishReason),
        usage: usageOf(result.usage),
      } as unknown as LanguageModelV4GenerateResult;
    },
    doStream: async (options) => {
      const { stream, ...rest } = await older.doStream(optionsFor(options));
      const transform = partConverter(options);
      return { ...rest, stream: stream.pipeThrough(new TransformStream({ transform })) };
    },
  };
}

interface OlderModel {
  doGenerate(
    options: unknown,
  ): Promise<{ readonly finishReason: unknown; readonly usage: unknown; readonly warnings?: readonly OlderWarning[] }>;
  doStream(options: unknown): Promise<{ readonly stream: ReadableStream<OlderPart> }>;
}
interface OlderPart {
  readonly type: string;
  readonly finishReason?: unknown;
  readonly usage?: unknown;
  readonly warnings?: readonly OlderWarning[];
}
interface OlderWarning {
  readonly setting?: string;
  readonly feature?: string;
  readonly details?: string;
}

function partConverter(options: LanguageModelV4CallOptions) {
  return (part: OlderPart, controller: TransformStreamDefaultController<LanguageModelV4StreamPart>): void => {
    const converted =
      part.type === 'finish'
        ? { ...part, finishReason: finishOf(part.finishReason), usage: usageOf(part.usage) }
        : part.type === 'stream-start'
          ? { ...part, warnings: warningsOf(part.warnings, options) }
          : part;
    controller.enqueue(converted as unknown as LanguageModelV4StreamPart);
  };
}

function warningsOf(
  warnings: readonly OlderWarning[] = [],
  { reasoning }: LanguageModelV4CallOptions,
): SharedV4Warning[] {
  const converted = warnings.map(({ setting, feature = setting ?? '', details }): SharedV4Warning => ({
    type: 'unsupported',
    feature,
    ...(details === undefined ? {} : { details }),
  }));
  return reasoning === undefined ? converted : [...converted, { type: 'unsupported', feature: 'reasoning' }];
}

/** The older specifications hold the data of a file directly, and have no `reasoning`. */
function optionsFor(options: LanguageModelV4CallOptions): object {
  return { ...options, reasoning: undefined, prompt: options.prompt.map(withPlainFiles) };
}

type Message = LanguageModelV4CallOptions['prompt'][number];

function withPlainFiles(message: Message): object {
  if (message.role === 'system') return message;
  return { ...message, content: message.content.map((part) => (part.type === 'file' ? plainFile(part) : part)) };
}

function plainFile(part: { readonly data: unknown }): object {
  const data = part.data as {
    readonly type: string;
    readonly data?: unknown;
    readonly url?: unknown;
    readonly text?: unknown;
  };
  return { ...part, data: data.data ?? data.url ?? data.text };
}

const REASONS: ReadonlySet<unknown> = new Set(['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other']);

function finishOf(reason: unknown): LanguageModelV4FinishReason {
  if (reason !== null && typeof reason === 'object') return reason as LanguageModelV4FinishReason;
  return { unified: REASONS.has(reason) ? (reason as 'stop') : 'other', raw: String(reason) };
}

function usageOf(usage: unknown): LanguageModelV4Usage {
  const known = (usage ?? {}) as {
    readonly inputTokens?: unknown;
    readonly outputTokens?: number;
    readonly reasoningTokens?: number;
    readonly cachedInputTokens?: number;
    readonly totalTokens?: number;
  };
  if (known.inputTokens !== null && typeof known.inputTokens === 'object') return usage as LanguageModelV4Usage;
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = known;
  const input = inputTokens as number | undefined;
  // Reasoning may be in the total only.
  const beside = input === undefined || known.totalTokens === undefined ? 0 : known.totalTokens - input;
  const output = outputTokens === undefined ? undefined : Math.max(outputTokens, beside);
  return tokenUsage(input, output, cachedInputTokens, reasoningTokens);
}
