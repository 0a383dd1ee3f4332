/**
 * The types of the options of models, for programs. They name no type of the AI SDK. So a program that imports this package
 * compiles without the packages of the AI SDK, even if its compiler checks the types of libraries.
 */

/** A model object of an AI SDK provider package, such as `openai('gpt-5-mini')`. */
export interface ModelObject {
  readonly specificationVersion: 'v2' | 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: never): PromiseLike<unknown>;
  doStream(options: never): PromiseLike<unknown>;
}

export function isModelObject(value: unknown): value is ModelObject {
  const model = value as Partial<ModelObject> | null | undefined;
  return (
    model !== null &&
    (typeof model === 'object' || typeof model === 'function') &&
    typeof model.doGenerate === 'function' &&
    typeof model.doStream === 'function' &&
    ['v2', 'v3', 'v4'].includes(model.specificationVersion ?? '')
  );
}

export type Fetch = typeof globalThis.fetch;
