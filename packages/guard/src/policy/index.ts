/** What other packages use of `guard/policy`. */
export { checkPolicy } from './cedar.ts';
export { isMemoryCheck, memoryPerformer } from './memory.ts';
export { isPolicyCheck, policyPerformer } from './performer.ts';
