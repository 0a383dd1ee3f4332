/**
 * A tool's definition may name values of the environment, which are secrets more often than not. Such a value is sent where
 * the definition says and is in nothing that the tool gives back, be it a result or a failure (L10), even where the other
 * side repeats it. Values of fewer than eight characters are too common to be told from ordinary text.
 */
import type { Json } from '../../expr/json.ts';
import { PerformError, failureOf } from '../../runtime/failures.ts';
import { redactValue } from '../redact.ts';
import type { ToolOptions, ToolWork } from './context.ts';
import { environmentIn } from './template.ts';

export function withoutSecrets(work: ToolWork, definition: unknown, env: NonNullable<ToolOptions['env']>): ToolWork {
  const values = environmentIn(JSON.stringify(definition) ?? '').map((name) => env[name] ?? '');
  const secrets = [...new Set(values.flatMap((value) => [value, encodeURIComponent(value)]))];
  if (secrets.every((secret) => secret === '')) return work;
  const clean = <Value>(value: Value): Value => secrets.reduce<Value>(redactValue, value);
  return async (call): Promise<Json> => {
    try {
      return clean(await work(call));
    } catch (error) {
      throw new PerformError(clean(failureOf(error)));
    }
  };
}
