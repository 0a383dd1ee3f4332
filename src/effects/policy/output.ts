/**
 * `policy:output`: whether an answer has the form that its agent promises. It may be data, or text that is the same data in
 * JSON, in a fence or not; `value` is then what it comes to. The reason says where it does not fit.
 */
import type { Json } from '../../expr/json.ts';
import { parsedJson, unfenced } from '../../core/slots.ts';
import type { Call } from '../../runtime/ports.ts';
import { pure } from '../../runtime/engine/pure.ts';

export function checkOutput({ command }: Call): Json {
  const { schema = true, answer = null, said = null } = command.input;
  const parsed = parsedJson(typeof answer === 'string' ? unfenced(answer) : answer);
  const candidates = [answer, ...(parsed === null ? [] : [parsed]), ...(isObject(said) ? [said] : [])];
  for (const value of candidates) if (pure.validate(schema, value) === null) return { ok: true, value };
  // Of data in text, what is wrong with the data says more.
  return { ok: false, reason: pure.validate(schema, parsed ?? answer) ?? 'does not satisfy its schema' };
}

function isObject(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
