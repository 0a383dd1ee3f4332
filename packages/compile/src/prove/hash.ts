/**
 * The identity of a compiled flow: SHA-256 over its canonical form (RFC 8785). The same flow in YAML, JSON or TypeScript, with
 * any order of keys, has the same hash. The caller passes the digest function, because this folder has no platform.
 */
import { canonical } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, FlowBody } from '@sluice-internal/kernel/ir';

/** SHA-256 of a text's UTF-8 bytes, in lower-case hexadecimal. */
export type Sha256 = (text: string) => string;

/**
 * Freezes the whole flow, because runs are pinned to its hash. Throws if a text has half of a surrogate pair, which has no
 * canonical form.
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
