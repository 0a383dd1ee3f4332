/** What engine, server, client and page share. */
export { answerText } from './answer-text.ts';
export { checkChain, checkpointText, genesisText, linkText, readExport } from './chain.ts';
export type { ChainCheck, ExportedRun } from './chain.ts';
export { CLOSED_BECAUSE } from './events.ts';
export type { Base, ControlResult, EventError, EventId, InNode, RunEvent, StoryEvent, Used } from './events.ts';
export { foldEvents, startOfView } from './fold.ts';
export type { Bar, NodeView, OpenQuestion, RunView, Visit } from './fold.ts';
export { harmless, unpadded } from './harmless.ts';
