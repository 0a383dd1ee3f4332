/**
 * The identity of a compiled flow: SHA-256 over its canonical form (RFC 8785), so that the same flow written in YAML, JSON
 * or TypeScript, in any order of keys, is the same flow. The digest itself is handed in, since there is no platform here.
 */
import { canonical } from '../../expr/canonical.ts';
import type { CompiledFlow, FlowBody } from '../../ir/nodes.ts';

/** SHA-256 of a text's UTF-8 bytes, in lower-case hexadecimal. */
export type Sha256 = (text: string) => string;

/**
 * Frozen all the way down: a run pins the hash, so what it stands for must not change. Throws where a text holds half of a
 * surrogate pair, which has no canonical form.
 */
export function seal(body: FlowBody, sha256: Sha256): CompiledFlow {
  return freeze({ ...body, hash: `sha256:${sha256(canonical(body))}` });
}

function freeze<Value>(value: Value): Value {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const item of Object.values(value)) freeze(item);
  return value;
}
