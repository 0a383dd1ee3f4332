/** What other packages use of `guard/values`. */
export { evidenceOf, judgeUtterance } from './grounding.ts';
export { wordsOf } from './tool-words.ts';
