/** For tests of flows and stores: scripted models and tools, a virtual clock, the journal suite and the simulator. */
// First, so that an old Node gets this error and no other.
export { MINIMUM_NODE } from './node-version.ts';
export { scriptedPerformer } from './effects/scripted/performer.ts';
export type { AnswerEntry, ModelEntry, Script, ToolEntry } from './effects/scripted/script.ts';
export { createVirtualClock, realClock } from './runtime/engine/clock.ts';
export { journalSuite } from './surfaces/testing/journal-suite.ts';
export { differenceBetween, simulate } from './surfaces/testing/simulate.ts';
export type {
  FaultCounts,
  Performed,
  SimulatedWorld,
  SimulateOptions,
  Simulation,
} from './surfaces/testing/simulate-types.ts';
export { sluiceMatchers } from './surfaces/testing/matchers.ts';
export type { SluiceMatchers } from './surfaces/testing/matchers.ts';
