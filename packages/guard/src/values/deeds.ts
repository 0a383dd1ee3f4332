/**
 * `policy:deeds`: a task that asks for an action is fulfilled only if a call that can perform it succeeded. The answer's words do
 * not count, so its language does not matter. Where the task cannot be read, an answer without any change must state something
 * that was observed.
 */
import { listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Call } from '@sluice-internal/engine/ports';
import { even, flat, structured } from '../text/sources.ts';
import { actions } from './detectors/actions.ts';
import { canPerform } from './commands.ts';
import { isAfter, quoted, type Observation } from './detector.ts';
import { evidenceOf } from './grounding.ts';
import { observationsIn } from './observations.ts';
import { BEYOND_TEXT, isChange, requestsIn, type Request } from './requests.ts';
import { speaksOf, toolWords, type ToolWords } from './tool-words.ts';
import { isCommon, isSame } from './words.ts';

/** A text by the person who set the task. `turn` is the turn after which it was written. */
interface Asked {
  readonly turn: number;
  readonly text: string;
}

interface Task {
  readonly asked: readonly Asked[];
  readonly criteria: readonly string[];
  readonly answer: Json;
  readonly observations: readonly Observation[];
  readonly tools: readonly ToolWords[];
  /** An answer that states something observed is enough: other parts of the flow may perform the action. */
  readonly lenient: boolean;
  /** Other parts of the flow have tools that change something. */
  readonly elsewhere?: boolean;
  /** A plan names the calls that its steps need, so an answer need not repeat an observation. */
  readonly planned?: boolean;
}

export function checkDeeds({ command, flow }: Call): Json {
  const { input } = command;
  const tools = toolWords(input['tools'], flow);
  const reason = judgeDeeds({
    asked: askedIn(input),
    criteria: listOf(input['criteria']).map(String),
    answer: input['answer'] ?? null,
    observations: observationsIn(input['observations'], tools, input['answer'] ?? null),
    tools,
    lenient: false,
    planned: input['planned'] === true,
  });
  return reason === null ? { ok: true } : { ok: false, reason };
}

/** One sentence about an action that was asked for and not done. Null if every action was done. */
export function judgeDeeds(task: Task): string | null {
  const changing = task.tools.filter(({ changes }) => changes);
  if (changing.length === 0) return null;
  const observed = statesObserved(task);
  if (task.lenient && observed) return null;
  return (
    undoneRequest(task, changing) ??
    undoneCriterion(task) ??
    (task.lenient || task.planned === true ? null : emptyAnswer(task, observed))
  );
}

/** The task asks for an action, and no call that performs it succeeded since. */
function undoneRequest(
  { asked, observations, lenient, elsewhere }: Task,
  changing: readonly ToolWords[],
): string | null {
  for (const { turn, text } of asked)
    for (const request of requestsIn(text).actions) {
      const isAny = lenient ? elsewhere !== true && BEYOND_TEXT.has(request.verb) : isChange(request.verb);
      const tools = performing(request, changing, isAny);
      const isDone = observations.some(
        (o) => canPerform(request.verb, o) && isAfter(o, turn) && tools.some(({ name }) => name === o.tool),
      );
      if (tools.length === 0 || isDone) continue;
      const names = tools.map(({ name }) => name).join(' or ');
      return `the task asks for a call that has not succeeded (${names}): ${quoted(request.sentence)}`;
    }
  return null;
}

/** Verbs of many meanings: a tool performs the request only if it also works on that thing. */
const VAGUE: ReadonlySet<string> = new Set(['writ', 'mak', 'creat', 'add', 'run', 'set', 'do', 'post', 'build', 'put']);

/** The tools that can perform the request: one success is enough. If no tool has the verb and any change will do, all of them. */
function performing({ verb, thing }: Request, changing: readonly ToolWords[], isAny: boolean): readonly ToolWords[] {
  const same = changing.filter(({ verbs }) => verbs.some((own) => isSame(own, verb)));
  if (same.length === 0) return isAny && !VAGUE.has(verb) ? changing : [];
  return VAGUE.has(verb) ? same.filter((tool) => speaksOf(tool, thing)) : same;
}

/** A criterion in words that states an action without an observation of it. */
function undoneCriterion({ criteria, observations, tools }: Task): string | null {
  const evidence = evidenceOf({ observations, tools, userTexts: [], given: [], since: null, confirmed: [] });
  for (const criterion of criteria) {
    const utterance = {
      fields: {},
      text: criterion,
      answer: criterion,
      cite: false,
      claims: true,
      values: 'off' as const,
    };
    const [first] = actions(utterance, evidence).findings;
    if (first !== undefined) return `no observation supports the criterion ${quoted(criterion)}`;
  }
  return null;
}

/**
 * True if nothing was changed, the task is not a question, and the answer states nothing that was observed. If no tool was
 * called at all, this counts only for tasks in other languages than English: in English, a task without a request for an
 * action is recognised.
 */
function emptyAnswer({ asked, observations, tools }: Task, observed: boolean): string | null {
  const changing = new Set(tools.flatMap(({ name, changes }) => (changes ? [name] : [])));
  if (observed || observations.some(({ ok, tool }) => ok && changing.has(tool))) return null;
  const texts = asked.map(({ text }) => text).filter((text) => /\p{L}\P{L}+\p{L}|[\p{Lo}]{2}/u.test(text));
  if (texts.length === 0 || texts.some(isAnswerable)) return null;
  if (observations.length === 0 && texts.some((text) => ENGLISH.test(text))) return null;
  return 'no call changed anything, and the answer states nothing that was observed';
}

/** The task asks for information or for a text: an answer needs no call. */
function isAnswerable(task: string): boolean {
  const { reads, writes } = requestsIn(task);
  return reads || writes;
}

/** The task is only to write a text. */
export function isWritingTask(input: Call['command']['input']): boolean {
  const texts = askedIn(input).map(({ text }) => requestsIn(text));
  return texts.some(({ writes }) => writes) && texts.every(({ writes, actions }) => writes || actions.length === 0);
}

const ENGLISH =
  /\b(?:the|and|with|your|please|this|that|it|one|what|from|see|about|all|any|some|new|at|not|do|go|hello)\b/i;

/** The answer contains a word or a number of a result that the task does not contain. */
function statesObserved({ answer, asked, observations }: Task): boolean {
  const given = tokensIn(asked.map(({ text }) => text).join('\n'));
  const seen = tokensIn(
    // A command that exits with another code than 0 has printed something, too.
    observations
      .flatMap(({ ok, error, result = null }) => (ok || error === undefined ? [flat(structured(result))] : []))
      .join('\n'),
  );
  return [...tokensIn(flat(structured(answer)))].some((each) => seen.has(each) && !given.has(each));
}

/** Words of three letters and more, numbers, and pairs of characters in scripts without spaces. */
function tokensIn(text: string): ReadonlySet<string> {
  const plain = even(text).normalize('NFKD').replace(/\p{M}/gu, '');
  const words = plain.match(/[\p{L}\d]+(?:[.,:/-]\d+)*/gu) ?? [];
  return new Set(
    words.flatMap((word) => (DENSE.test(word) ? pairsOf(word) : isDistinctive(word) ? [evenNumber(word)] : [])),
  );
}

const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
/** Words that confirm in any answer. */
const CONFIRMING = new Set('done completed complete finished success successful true yes sent'.split(' '));

/** `49.50` and `49.5` are the same number. */
function evenNumber(word: string): string {
  return /^\d+\.\d+$/.test(word) ? String(Number(word)) : word;
}

function isDistinctive(word: string): boolean {
  return /\d/.test(word) || (word.length >= 3 && !isCommon(word) && !CONFIRMING.has(word));
}

function pairsOf(word: string): readonly string[] {
  return [...word].slice(1).map((each, at) => `${[...word][at] ?? ''}${each}`);
}

/** The goal. A goal that asks for nothing in particular refers to the input. */
export function askedIn({ goal = null, input = null, userAnswers = null }: Call['command']['input']): readonly Asked[] {
  const task = isData(goal) ? requestOf(structured(goal)) : flat(goal);
  const { actions: asked, reads } = requestsIn(task);
  const texts = asked.length > 0 || reads || isData(goal) ? [task] : [task, requestOf(structured(input))];
  return [
    ...texts.map((text) => ({ turn: -1, text })),
    ...(listOf(userAnswers) as readonly Asked[]).map(({ turn, text }) => ({ turn, text: flat(text) })),
  ];
}

const REQUEST_FIELDS = 'task goal request message question query prompt instruction instructions'.split(' ');

/** The text, or the fields of an object that hold a request. Other data asks for nothing. */
function requestOf(input: Json): string {
  if (input === null || typeof input !== 'object') return flat(input);
  if (Array.isArray(input)) return '';
  return REQUEST_FIELDS.flatMap((field) => (Object.hasOwn(input, field) ? [flat(input[field] ?? null)] : [])).join(
    '\n',
  );
}

function isData(value: Json): boolean {
  const data = structured(value);
  return data !== null && typeof data === 'object';
}
