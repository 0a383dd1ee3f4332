/** What other packages use of `library/host`. */
export { checkedGrant } from './budget-grant.ts';
export { closing } from './closing.ts';
export { isErased, recordErased } from './erased.ts';
export { fork } from './fork.ts';
export type { AgentEdit } from './fork.ts';
export { examine, migrate } from './migrate/migrate.ts';
export type { Misfit } from './migrate/values.ts';
export { openStore } from './open-store.ts';
export { exportTo, forget, retentionOptions } from './retention.ts';
export { questionNames, readScript, scriptSchema } from './script.ts';
export { isScripted, scriptedPerformer } from './scripted/performer.ts';
export type { AnswerEntry, ModelEntry, Script, ToolEntry } from './scripted/script.ts';
export { signingFor } from './signing.ts';
export { forTenant, recordIn } from './tenant.ts';
export { vaultInProcess, worldBeside } from './world-beside.ts';
export { callsOf, requireCalls } from './world.ts';
export type { NeededCall, World, WorldToolOptions } from './world.ts';
export { worstCases } from './worst-case.ts';
