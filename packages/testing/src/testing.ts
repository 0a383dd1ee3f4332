/** For tests of flows and stores: scripted models and tools, a virtual clock, the journal suite and the simulator. */
// First, so that an old Node gets this error and no other.
export { MINIMUM_NODE } from '@sluice-internal/library/node-version';
export { scriptedPerformer } from '@sluice-internal/library/host';
export type { AnswerEntry, ModelEntry, Script, ToolEntry } from '@sluice-internal/library/host';
export { createVirtualClock, realClock } from '@sluice-internal/engine/ports';
export { journalSuite } from './journal-suite.ts';
export { differenceBetween, simulate } from './simulate.ts';
export type { FaultCounts, Performed, SimulatedWorld, SimulateOptions, Simulation } from './simulate-types.ts';
export { sluiceMatchers } from './matchers.ts';
export type { SluiceMatchers } from './matchers.ts';
