/** Tools of a user's own, as a document names them: `./own-tools.ts#send`. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModuleTool } from '../../src/calls/module.ts';
import { PerformError } from '@sluice-internal/engine/ports';

export const send: ModuleTool = (args, { idempotencyKey, run, workDir, result }) => ({
  args,
  idempotencyKey,
  run,
  hasDir: workDir !== '',
  result,
});
export const nothing: ModuleTool = () => undefined;
export const throws: ModuleTool = () => {
  throw new Error('out of stock');
};
export const limited: ModuleTool = () => {
  throw new PerformError({ class: 'rate_limit', type: 'QuotaError', message: 'later' });
};
export const circular: ModuleTool = () => {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
};
export const big: ModuleTool = () => ({ text: 'x'.repeat(50_000_000) });
export const bigint: ModuleTool = () => ({ n: 1n });
export const patient: ModuleTool = (_, { signal }) => sleep(60_000, null, { signal });
export const hangs: ModuleTool = (_, { signal }) =>
  new Promise(() => signal.addEventListener('abort', () => stopped.push('hangs')));
/** Which of them were told to stop. */
export const stopped: string[] = [];
export const number = 7;
