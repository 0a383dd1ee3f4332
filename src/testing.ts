/** For tests of flows and of journals: the scripted world, a clock whose waits pass at once, and the journal suite. */
export { scriptedPerformer } from './adapters/scripted/performer.ts';
export type { AnswerEntry, ModelEntry, Script, ToolEntry } from './adapters/scripted/script.ts';
export { createVirtualClock, realClock } from './runtime/clock.ts';
export { journalSuite } from './surfaces/testing/journal-suite.ts';
