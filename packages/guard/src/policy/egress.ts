/**
 * The control `egress`: under a profile an agent reads approved sources, which are addresses that the user, the author or a trusted
 * tool gave. An address that text from outside brought in, or that the model made up since, needs approval.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Call } from '@sluice-internal/engine/ports';
import { checkProvenance, leavesOf } from './provenance.ts';

const ADDRESS_FIELD = /^(?:url|uri|href|link|host|domain|site|endpoint)$/i;
const ADDRESS = /^(?:https?:\/\/|www\.)/i;

export function checkAddresses({ command, ...rest }: Call): Json {
  const { args = null } = command.input;
  const addresses = leavesOf(args).filter(
    ({ path, value }) =>
      ADDRESS_FIELD.test(path.split('.').at(-1) ?? '') || (typeof value === 'string' && ADDRESS.test(value)),
  );
  if (addresses.length === 0) return { ok: true };
  const only = Object.fromEntries(addresses.map(({ path, value }) => [path, value]));
  return checkProvenance({ ...rest, command: { ...command, input: { ...command.input, args: only } } });
}
