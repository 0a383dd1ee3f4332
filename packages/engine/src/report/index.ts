/** What other packages use of `engine/report`. */
export { authoredIn, conditionAt, nameAt } from './authored.ts';
export type { Authored } from './authored.ts';
export { InputLog, callsIn } from './calls.ts';
export type { Attempt, RunCall } from './calls.ts';
export { detailsOf } from './details.ts';
export { createNarrator, storyLog, storyOf } from './narrate.ts';
export { createPublicEvents } from './public-events.ts';
export { tracedArgs } from './packet.ts';
export { enteredBy } from './entered.ts';
export { reportOf } from './report.ts';
export { retryPoint } from './retry-point.ts';
export { receiptsByCall } from './receipts.ts';
export { authoredNames } from './skipped.ts';
export { usageOf } from './usage.ts';
export { HOUR_MS, spendingOf, velocities } from './velocity.ts';
export type { Spending, Velocity } from './velocity.ts';
export { doneLine, doneText } from './done.ts';
export { questionsOf, waitingOf } from './waiting.ts';
