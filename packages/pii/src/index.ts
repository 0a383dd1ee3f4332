/** What other packages use of `pii`. */
export { isIban } from './detectors/numbers.ts';
export { Pipelines, asCommandError, withPii } from './pipeline.ts';
export type { OpenVault } from './pipeline.ts';
export { LOOKALIKE, TOKEN, createVault } from './vault.ts';
export type { TakeNumber, Vault } from './vault.ts';
