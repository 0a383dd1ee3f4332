/** Splits the input of a run into the parts that vouch for arguments and the parts that others wrote. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { BoundaryDef } from '@sluice-internal/kernel/ir';
import type { Call } from '@sluice-internal/engine/ports';
import { structured } from '../text/sources.ts';

/** The declaration for a call: of its agent's boundary, or of the tool node that makes it. */
export function untrustedInput({ input }: Call['command'], flow: Call['flow']): BoundaryDef['untrustedInput'] {
  const { foreign, agent } = input;
  if (foreign === true) return true;
  if (Array.isArray(foreign)) return foreign.map(String);
  return flow.boundaries?.[String(agent)]?.untrustedInput;
}

/** `boundary.untrusted_input` names the fields that others wrote, at any depth. A plain text has no fields. */
export function vouchingInput(
  user: Json,
  untrusted: BoundaryDef['untrustedInput'],
): { readonly vouching: readonly Json[]; readonly foreign: readonly Json[] } {
  if (untrusted === undefined) return { vouching: [user], foreign: [] };
  const data = structured(user);
  if (untrusted === true || data === null || typeof data !== 'object') return { vouching: [], foreign: [user] };
  const vouching: Json[] = [];
  const foreign: Json[] = [];
  const walk = (value: Json): void => {
    if (value === null || typeof value !== 'object') void vouching.push(value);
    else if (Array.isArray(value)) for (const each of value) walk(each);
    else
      for (const [key, each] of Object.entries(value)) {
        if (untrusted.includes(key)) foreign.push(each);
        else walk(each);
      }
  };
  walk(data);
  return { vouching, foreign };
}
