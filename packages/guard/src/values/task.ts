/** The task that people set, as far as the claims of an answer depend on it. */
import type { Evidence } from './detector.ts';
import { requestsIn, type Request } from './requests.ts';

/** Cached, because every claim needs it. */
export function taskOf(evidence: Evidence): Task {
  const known = TASKS.get(evidence) ?? readTask(evidence);
  TASKS.set(evidence, known);
  return known;
}

function readTask({ userTexts, given }: Evidence): Task {
  const tasks = userTexts.map(requestsIn);
  return {
    requests: tasks.flatMap(({ actions: asked }) => asked),
    isExample: userTexts.some((each) => EXAMPLE.test(each)),
    isWriting: tasks.some(({ writes }) => writes),
    isRewriting: userTexts.some((each) => SAME.test(each)),
    isReading: [...userTexts, ...given].some((each) => READING.test(each)),
    words: normalWords(userTexts.join('\n')),
  };
}

const TASKS = new WeakMap<Evidence, Task>();

interface Task {
  readonly requests: readonly Request[];
  readonly isExample: boolean;
  readonly isWriting: boolean;
  /** The text says the same as another. */
  readonly isRewriting: boolean;
  /** The task is to read a text and to note what it says. */
  readonly isReading: boolean;
  /** The words of the people. */
  readonly words: string;
}

/** A text that repeats another in other words. */
const SAME =
  /(?<!\p{L})(?:translat|rewrit|rephras|paraphras|reword|proofread|shorten|übersetz|formulier|tradui|reformul|traduc|traduz|riscriv|vertaal|przetłumacz|перевед)/iu;
const EXAMPLE =
  /\b(?:write|make|build|create|generate|design|show|give|need|want)\b(?: \S+){0,5} (?:examples?|samples?|templates?|mock-?up|(?:HTML|web) (?:form|page))\b/i;
const READING = /\b(?:extract|classify|categori[sz]e|parse|summari[sz]e|transcribe|convert|label)\b/i;

/** Lower case, with single spaces between words and at both ends. */
export function normalWords(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
}
