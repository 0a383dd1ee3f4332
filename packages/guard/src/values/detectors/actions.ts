/**
 * Claims that something was done. Each claim is matched with the tools whose words fit it best. It is supported if one of
 * them succeeded: for the things that the sentence names, with the options it names, and since a person last spoke.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { flat, structured } from '../../text/sources.ts';
import { clausesOf, type Clause } from '../clauses.ts';
import { canPerform, runsAction } from '../commands.ts';
import { isFresh, quoted, type Detector, type Evidence, type Finding, type Observation } from '../detector.ts';
import { valuesIn } from '../../text/read-values.ts';
import { BEYOND_TEXT, speaksOfWriting } from '../requests.ts';
import { normalWords, taskOf } from '../task.ts';
import { fitting, isNamed, speaksOf, type Fit, type ToolWords } from '../tool-words.ts';
import {
  GENERIC,
  IDLE,
  LIGHT,
  LOOKING,
  MAKING,
  PARTICULAR,
  PAYING,
  isSameStem,
  isParticiple,
  isSame,
  pastOf,
  stem,
  stemsIn,
} from '../words.ts';

export const actions: Detector = ({ text, claims }, evidence) => {
  const findings: Finding[] = [];
  const confirmed = new Set<string>();
  for (const clause of claims ? clausesOf(withoutQuotations(text, evidence)) : []) {
    const problem = isFeature(clause, evidence) ? null : problemOf(clause, evidence);
    if (problem === null) continue;
    if (problem === '') confirmed.add(clause.text);
    else
      findings.push({
        kind: 'action',
        text: clause.text,
        reason: `says that something was done, but no observation shows it: ${quoted(clause.text)} (${problem})`,
      });
  }
  return { findings, confirmed: [...confirmed] };
};

/** Leaves out words in quotation marks that a person or a record said: `Bob wrote: "I have paid the invoice."` */
function withoutQuotations(text: string, { userTexts, observations }: Evidence): string {
  let sources: string | undefined;
  return text.replace(/["“„«]([^"”“»\n]{3,})["”“»]/gu, (quotation, words: string) => {
    sources ??= normalWords(
      [...userTexts, ...observations.map(({ result = null }) => flat(structured(result)))].join('\n'),
    );
    return sources.includes(normalWords(words)) ? '""' : quotation;
  });
}

/** The missing support; empty where the claim is supported, null where the clause claims nothing. */
function problemOf(clause: Clause, evidence: Evidence): string | null {
  const changing = evidence.tools.filter(({ changes }) => changes);
  const words = stemsIn(clause.text);
  const fit = fitByNoun(clause, words, changing) ?? fitting(clause.verb, words, changing);
  if (changing.length === 0)
    return evidence.elsewhere !== true && isRequested(clause, words, evidence) && !isReported(clause, fit, evidence)
      ? 'no tool does it'
      : null;
  if (!isAction(clause, fit, evidence) || isReported(clause, fit, evidence)) return null;
  if (!fit.verb && fit.score === 0 && isBeyond(clause, changing, evidence)) return 'no tool does it';
  const tools = fit.verb || fit.score > 0 ? fit.tools : changing;
  const names = tools.map(({ name }) => name);
  const performed = evidence.observations.filter((each) => canPerform(clause.verb, each));
  const succeeded = performed.filter(({ tool }) => names.includes(tool));
  if (succeeded.length === 0) {
    const named = stemsIn(clause.what).filter((word) => tools.some((tool) => isNamed(tool, [word])));
    const close = changing.filter(
      (tool) =>
        isState(clause) || (!fit.verb && speaksOf(tool, words) && named.every((word) => speaksOf(tool, [word]))),
    );
    const consequence = performed.some((o) => isFresh(o, evidence) && close.some(({ name }) => name === o.tool));
    // A consequence of a recent action: `the difference has been refunded`.
    return consequence ? null : `${names.join(' or ')} has not succeeded`;
  }
  return detailProblem(clause, tools, succeeded, evidence);
}

/** The clause says that a requested action in the world was done: the verb of the request is its verb or its noun. */
function isRequested({ verb, form }: Clause, words: readonly string[], evidence: Evidence): boolean {
  if (form === 'state') return false;
  const asked = taskOf(evidence).requests.filter((request) => BEYOND_TEXT.has(request.verb));
  // `Your request to refund it was received` does not claim a refund.
  const isOther = LOOKING.has(verb) && !LIGHT.has(verb);
  return asked.some(
    (request) => isSameStem(request.verb, verb) || (!isOther && words.some((word) => isSame(request.verb, word))),
  );
}

/** `✅ Send mails to everyone` praises a feature or gives advice, unless it was asked for or names one particular thing. */
function isFeature({ text, verb, word }: Clause, evidence: Evidence): boolean {
  if (!/^[✅✔✓]/u.test(text) || isParticiple(word) || /\d/.test(text)) return false;
  return !taskOf(evidence).requests.some((request) => isSame(request.verb, verb));
}

/** The tools succeeded, but perhaps for another thing, with another option, or before the request. */
function detailProblem(
  clause: Clause,
  tools: readonly ToolWords[],
  succeeded: readonly Observation[],
  evidence: Evidence,
): string {
  const names = tools.map(({ name }) => name).join(' or ');
  const targets = [...targetsIn(clause.scope, evidence.observations, tools), ...twinsIn(clause.text, succeeded)];
  const missing = targets.find((each) => !succeeded.some((o) => mentions(o, each)));
  if (missing !== undefined) return `${names} has not succeeded for ${missing}`;
  const failed = EVERY.test(clause.text) ? lastFailure(tools, evidence) : null;
  if (failed !== null) return `a call of ${failed.tool} failed`;
  const options = tools
    .flatMap(({ choices }) => choices)
    .filter((choice) => normalWords(clause.text).includes(normalWords(choice)));
  const matching = options.length === 0 ? succeeded : succeeded.filter(({ args }) => hasOption(args, options));
  if (matching.length === 0) return `${names} has not succeeded with ${options.join(' or ')}`;
  const fresh =
    matching.some((o) => isFresh(o, evidence)) || evidence.confirmed.some((each) => isRepeated(clause.text, each));
  return fresh ? '' : `${names} has not succeeded since it was requested`;
}

/** The claim is about several things: each of them must have succeeded. */
const EVERY =
  /(?<!\p{L})(?:both|all|every|each|beide\p{L}*|alle|sämtliche|tous|toutes|les deux|todos|todas|ambos|ambas|tutti|tutte|entrambi|allebei|begge|båda|alla|oba|obie|wszystkie|все|оба)(?!\p{L})|全部|すべて|两/iu;

/** The last call of the tools, if it failed. */
function lastFailure(tools: readonly ToolWords[], { observations }: Evidence): Observation | null {
  const last = observations.findLast(({ tool }) => tools.some(({ name }) => name === tool));
  return last === undefined || last.ok ? null : last;
}

function hasOption(args: Json, options: readonly string[]): boolean {
  return flat(args)
    .split('\n')
    .some((value) => options.includes(value));
}

/** A statement about the present state of a person or thing; any change can have caused it. */
function isState({ form, what }: Clause): boolean {
  return form === 'state' || (form === 'present' && /^you$/i.test(what));
}

/** `The refund was issued`: where no tool has the verb, the noun names the action. */
function fitByNoun({ verb, what, form }: Clause, words: readonly string[], tools: readonly ToolWords[]): Fit | null {
  const isOwn = (each: string): boolean => tools.some(({ verbs }) => verbs.some((own) => isSameStem(own, each)));
  if (form === 'noun' || !LIGHT.has(verb) || isOwn(verb)) return null;
  const nouns = stemsIn(what.replace(PARTICIPLES, ' '));
  const named = tools.filter(({ verbs }) => verbs.some((own) => nouns.some((noun) => isSame(own, noun))));
  return named.length === 0 ? null : { ...fitting(null, words, named), verb: true };
}

/** The speaker claims a particular change, and neither the tools nor the commands do it. */
function isBeyond({ verb, form }: Clause, changing: readonly ToolWords[], { observations }: Evidence): boolean {
  if (!PARTICULAR.has(verb) || !SPEAKER.has(form) || observations.some((each) => runsAction(verb, each))) return false;
  return NARROW.has(verb) ? !changing.some(({ verbs }) => verbs.some((own) => GENERIC.has(own))) : true;
}

/** Changes that a tool with a verb such as `update` can make, too. */
const NARROW: ReadonlySet<string> = new Set(['notified', 'closed', 'cancelled'].map(stem));

/** Forms in which the speaker claims to have acted. */
const SPEAKER: ReadonlySet<Clause['form']> = new Set(['self', 'perfect']);

const PARTICIPLES = /\p{L}+ed\b/giu;
const FIT_MIN = 0.3;

/** The clause claims an action: its verb is a tool's, or a common verb of change about a thing that the tools work on. */
function isAction(clause: Clause, fit: Fit, evidence: Evidence): boolean {
  const { verb, form } = clause;
  if (isAgentless(clause)) return isAgentlessAction(clause, fit, evidence);
  if (fit.verb) return true;
  if (form === 'state' || form === 'noun' || LOOKING.has(verb)) return false;
  if (evidence.tools.some(({ changes, verbs }) => !changes && verbs.some((each) => isSameStem(each, verb))))
    return false;
  if (MAKING.has(verb) || PARTICULAR.has(verb)) return true;
  if (IDLE.has(verb) && !LIGHT.has(verb)) return false;
  return (
    (form === 'perfect' && fit.score >= FIT_MIN) || (form === 'self' && !IDLE.has(verb) && !isAnyChanged(evidence))
  );
}

/** True if something was changed since a person last spoke. Words outside the lists may describe that change. */
function isAnyChanged(evidence: Evidence): boolean {
  const { observations, tools } = evidence;
  return observations.some(
    (o) => o.ok && isFresh(o, evidence) && tools.some(({ name, changes }) => changes && name === o.tool),
  );
}

function isAgentlessAction(clause: Clause, { tools, verb: own }: Fit, evidence: Evidence): boolean {
  const { verb, form, text } = clause;
  // `The order was paid` names an act of the customer, unless a tool has that verb.
  const paid = PAYING.has(verb) && !/\bpaid (?:back|out)\b/i.test(text);
  if (paid && !tools.some(({ verbs: [name = ''] }) => isSameStem(name, verb))) return false;
  if (own && (form === 'terse' || tools.some(({ nouns }) => nouns.length === 0))) return true;
  return (own || (MAKING.has(verb) && form !== 'present')) && isToolsThing(clause, evidence);
}

/** True if the tools work on the thing, or the request names it. */
function isToolsThing({ what }: Clause, { userTexts, observations, tools }: Evidence): boolean {
  if (/\d/.test(what) || /^(?:it|they|this|that|these|those|both|you|all|everything)$/i.test(what)) return true;
  const words = stemsIn(what);
  const known = [...userTexts, ...observations.map(({ args }) => flat(args)), ...tools.map(({ name }) => name)];
  return (
    tools.some((tool) => speaksOf(tool, words)) ||
    stemsIn(known.join('\n')).some((each) => words.some((word) => isSameStem(each, word)))
  );
}

/** Values in the text that a call had as an argument of that name. */
function targetsIn(
  scope: string,
  observations: readonly Observation[],
  tools: readonly ToolWords[],
): readonly string[] {
  const words = new Set(
    scope
      .toLowerCase()
      .split(/[^\p{L}\p{N}_@.-]+/u)
      .map((word) => word.replace(/[.-]+$/, '')),
  );
  const named = observations
    .flatMap(({ args }) => entriesOf(args))
    .filter(([key]) => tools.some(({ params }) => params.has(key)));
  const targets = named.flatMap(([, value]) =>
    typeof value === 'string' && words.has(value.toLowerCase()) ? [value] : [],
  );
  return [...new Set(targets)];
}

/** Identifiers and addresses of a clause that are written like an argument of the calls: `A-2` beside `A-1`. */
function twinsIn(text: string, succeeded: readonly Observation[]): readonly string[] {
  const shapes = new Set(succeeded.flatMap(({ args }) => flat(args).split('\n').map(shapeOf)));
  const ids = valuesIn(text).flatMap(({ kind, text: id }) => (kind === 'id' && !id.includes('@') ? [id] : []));
  return [...ids, ...recipientsIn(text, succeeded)].filter((each) => shapes.has(shapeOf(each)));
}

/** The addresses of a clause. If a call had one of them, only those in a list with it: `ann@x.org and bob@x.org`. */
function recipientsIn(text: string, succeeded: readonly Observation[]): readonly string[] {
  const lists: string[][] = [];
  let end = 0;
  for (const { 0: address, index } of text.matchAll(ADDRESSES)) {
    if (JOINED.test(text.slice(end, index))) lists.at(-1)?.push(address);
    else lists.push([address]);
    end = index + address.length;
  }
  const reached = lists.filter((list) => list.some((each) => succeeded.some((o) => mentions(o, each))));
  return (reached.length > 0 ? reached : lists).flat();
}

/** The text between two addresses of a list: `, `, ` and also to `, `) and Bob (`. */
const JOINED =
  /^[\s)>]*(?:,|&|、|(?:,\s*)?(?:and|und|et|y|e|en|och|og|и|と|和)(?!\p{L}))(?:\s+(?:also|to|an|à|a))*(?:\s*\p{Lu}[\p{L}.-]*)*[\s(<]*$/u;

const ADDRESSES = /[\p{L}\p{N}._+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu;

function shapeOf(id: string): string {
  if (id.includes('@')) return '@';
  return id.toLowerCase().replace(/\d/g, '9').replace(/\p{L}/gu, 'a');
}

function entriesOf(args: Json): readonly (readonly [string, Json])[] {
  return isRecord(args) ? Object.entries(args) : [];
}

function mentions({ args, result = null }: Observation, name: string): boolean {
  return `${flat(args)}\n${flat(result)}`.toLowerCase().includes(name.toLowerCase());
}

const REPEATED_SHARE = 0.6;

/** Most of its words occur in a claim that was supported before. */
function isRepeated(text: string, before: string): boolean {
  const known = stemsIn(before);
  const words = stemsIn(text);
  return words.filter((word) => known.some((each) => isSameStem(each, word))).length >= words.length * REPEATED_SHARE;
}

/** The clause repeats the words of a person or of a record. */
function isReported(clause: Clause, fit: Fit, evidence: Evidence): boolean {
  const { word, form, text } = clause;
  if (isWritten(clause, fit, evidence)) return true;
  const { observations, tools, userTexts } = evidence;
  const reading = observations.filter((o) => !tools.some(({ name, changes }) => changes && name === o.tool));
  // `We have shipped your order` speaks for the company.
  if (form === 'self') return /\bwe\b/i.test(text) && isOnRecord(clause, fit, reading, evidence);
  if (form === 'noun') return false;
  const state = new RegExp(`\\b(?:was|were|been|got)\\s+${word}\\b`, 'i');
  if (userTexts.some((each) => state.test(each))) return true;
  if (isAgentless(clause)) return isOnRecord(clause, fit, reading, evidence);
  const alone = new RegExp(`\\b${word}\\b`, 'i');
  return reading.some((o) => alone.test(flat(o.result ?? null)));
}

/** The clause does not say who acted. */
function isAgentless({ form }: Clause): boolean {
  return form === 'past' || form === 'present' || form === 'terse';
}

/** A person claimed it before, or a record of the named thing says it. */
function isOnRecord(clause: Clause, { tools }: Fit, reading: readonly Observation[], evidence: Evidence): boolean {
  const verbs = [clause.verb, ...tools.flatMap(({ verbs: own }) => own)];
  const past = new RegExp(`(?<!\\p{L}|\\b(?:not|never|be)\\s)(?:${verbs.map(pastOf).join('|')})(?!\\p{L})`, 'iu');
  const ids = valuesIn(clause.text).flatMap(({ kind, text }) => (kind === 'id' ? [text] : []));
  const isAbout = ({ args, result = null }: Observation): boolean => {
    const all = `${flat(args)}\n${flat(result)}`.toLowerCase();
    return ids.length === 0 || ids.some((id) => all.includes(id.toLowerCase()));
  };
  if (claimedVerbs(evidence).has(clause.verb)) return true;
  const task = /^☑\s*(?<task>.+)/u.exec(clause.text)?.groups?.['task'];
  if (task !== undefined && reading.some(({ result = null }) => isTicked(result, task))) return true;
  return reading.some((o) => isAbout(o) && says(o.result ?? null, past));
}

/**
 * The task is to write an example, or a text that says the same as another: `{ "mail": "sent" }` from `mail sent, invoice open`.
 * Other texts may state rules, and actions that no tool of the agent performs.
 */
function isWritten(clause: Clause, fit: Fit, evidence: Evidence): boolean {
  const { verb, word, text } = clause;
  const { requests, isExample, isWriting, isReading, words } = taskOf(evidence);
  if (requests.some((request) => isSame(request.verb, verb))) return false;
  if (isExample && (isWriting || isAgentless(clause))) return true;
  if (/\S \S+ \S/.test(text) && words.includes(normalWords(text))) return true;
  if (isWriting && isOfText(clause, fit, evidence)) return true;
  const past = new RegExp(`(?<![\\p{L}_])(?<!\\b(?:not|never|be|gets?) )${word}(?![\\p{L}_])`, 'iu');
  const isSaid = claimedVerbs(evidence).has(verb) || evidence.userTexts.some((each) => past.test(each));
  return isSaid && (isWriting || isReading);
}

/** A sentence of a text that the agent writes for others: a rule, something that no tool does, or other words for a given text. */
function isOfText({ form, text }: Clause, fit: Fit, evidence: Evidence): boolean {
  if (form === 'present') return true;
  return ((!fit.verb && fit.score === 0) || taskOf(evidence).isRewriting) && !speaksOfWriting(text);
}

/** A list has the task ticked off, or a record of the task says that it was done. */
function isTicked(value: Json, task: string): boolean {
  if (typeof value === 'string') {
    const data = structured(value);
    if (typeof data !== 'string') return isTicked(data, task);
    return data.split('\n').some((line) => /^\W*(?:\[x\]|[✅✔☑✓])/iu.test(line) && line.includes(task));
  }
  if (value === null || typeof value !== 'object') return false;
  const fields = Object.entries(value);
  const isOf = fields.some(([, each]) => typeof each === 'string' && each.includes(task));
  const isDone = ([name, each]: readonly [string, Json]): boolean =>
    each === true ? isParticiple(name) || /^complete$/i.test(name) : typeof each === 'string' && isParticiple(each);
  return (isOf && fields.some(isDone)) || fields.some(([, each]) => isTicked(each, task));
}

/** The verbs of the claims that people made; cached, because every claim asks for them. */
function claimedVerbs(evidence: Evidence): ReadonlySet<string> {
  const known =
    CLAIMED_VERBS.get(evidence) ??
    new Set(evidence.userTexts.flatMap((each) => clausesOf(each)).map(({ verb }) => verb));
  CLAIMED_VERBS.set(evidence, known);
  return known;
}

const CLAIMED_VERBS = new WeakMap<Evidence, ReadonlySet<string>>();

/** True for a text with the verb, and for a field of that name whose value is not a "no". */
function says(value: Json, past: RegExp): boolean {
  if (typeof value === 'string') {
    const data = structured(value);
    return typeof data === 'string' ? past.test(data) : says(data, past);
  }
  if (value === null || typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.some((each) => says(each, past));
  return Object.entries(value).some(([key, each]) => (isYes(each) && past.test(key)) || says(each, past));
}

function isYes(value: Json): boolean {
  return value !== null && value !== false && value !== 0 && value !== '';
}
