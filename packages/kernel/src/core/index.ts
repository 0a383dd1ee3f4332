/** What other packages use of `kernel/core`. */
export { admit, earliest, expire } from './admit.ts';
export { allowedPeople, isUser } from './approvers.ts';
export { decide } from './decide.ts';
export { declaredOf } from './declared.ts';
export { digest } from './digest.ts';
export { evolve } from './evolve.ts';
export { authorOf, nameOf } from './failure.ts';
export { commandOf, inputOf, isAwaited, isOpenCall, isPaused, outstanding, statusOf } from './outstanding.ts';
export { createProgram, evaluateInput, nodeAt } from './program.ts';
export type { Program, Pure } from './program.ts';
export { normalised, printOf } from './repeats.ts';
export { questionOf } from './question.ts';
export { editSlots } from './run-fork.ts';
export { settle } from './settle.ts';
export { hasPath, readPath } from './slots.ts';
export { isBelow } from './state.ts';
export { isAbsent } from './unclear.ts';
export { askOf } from './walk.ts';
