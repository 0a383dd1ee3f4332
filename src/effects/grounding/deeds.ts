/**
 * Claims that something was done. Each is laid at the door of the tools that its words fit best, and holds where one of them
 * has succeeded: for what the sentence names, with what it says was chosen, and since somebody last asked for something.
 */
import type { Json } from '../../expr/json.ts';
import { clausesOf } from './clauses.ts';
import type { Clause } from './clauses.ts';
import { isFresh, quoted } from './material.ts';
import type { Finding, Material, Observation } from './material.ts';
import { isAgentless, isReported } from './reported.ts';
import { fitting, speaksOf } from './tools.ts';
import type { Fit, ToolWords } from './tools.ts';
import { LIGHT, LOOKING, MAKING, PAYING } from './words.ts';
import { flat } from '../policy/sources.ts';
import { akin, stemsIn } from './word-stem.ts';

export interface Deeds {
  readonly findings: readonly Finding[];
  /** The sentences whose claims hold. */
  readonly claimed: readonly string[];
}

export function judgeDeeds(text: string, material: Material): Deeds {
  const findings: Finding[] = [];
  const claimed = new Set<string>();
  for (const clause of clausesOf(text)) {
    const problem = problemOf(clause, material);
    if (problem === null) continue;
    if (problem === '') claimed.add(clause.text);
    else
      findings.push({
        kind: 'deed',
        reason: `says that something was done, and no observation shows it: ${quoted(clause.text)} (${problem})`,
      });
  }
  return { findings, claimed: [...claimed] };
}

/** What is missing; nothing where it holds, null where it is no claim. */
function problemOf(clause: Clause, m: Material): string | null {
  const changing = m.tools.filter(({ changes }) => changes);
  const words = stemsIn(clause.text);
  const fit = called(clause, words, changing) ?? fitting(clause.verb, words, changing);
  if (changing.length === 0 || !isDeed(clause, fit, m) || isReported(clause, fit, m)) return null;
  const tools = fit.verb || fit.score > 0 ? fit.tools : changing;
  const names = tools.map(({ name }) => name);
  const done = m.observations.filter(({ ok, tool }) => ok && names.includes(tool));
  if (done.length === 0) {
    const close = changing.filter((tool) => isState(clause) || (!fit.verb && speaksOf(tool, words)));
    const fresh = m.observations.some((o) => o.ok && isFresh(o, m) && close.some(({ name }) => name === o.tool));
    // A consequence of what was just done: `the difference has been refunded`.
    return fresh ? null : `${names.join(' or ')} has not succeeded`;
  }
  const missing = targetsIn(clause.scope, m.observations, tools).find((each) => !done.some((o) => isAbout(o, each)));
  if (missing !== undefined) return `${names.join(' or ')} has not succeeded for ${missing}`;
  const chosen = tools
    .flatMap(({ choices }) => choices)
    .filter((choice) => evened(clause.text).includes(evened(choice)));
  const suiting =
    chosen.length === 0
      ? done
      : done.filter((o) =>
          flat(o.args)
            .split('\n')
            .some((arg) => chosen.includes(arg)),
        );
  if (suiting.length === 0) return `${names.join(' or ')} has not succeeded with ${chosen.join(' or ')}`;
  const fresh = suiting.some((o) => isFresh(o, m)) || m.claimed.some((each) => isRepeated(clause.text, each));
  return fresh ? '' : `${names.join(' or ')} has not succeeded since it was asked for`;
}

/** How things stand for somebody now can have come from any change. */
function isState({ form, what }: Clause): boolean {
  return form === 'state' || (form === 'present' && /^you$/i.test(what));
}

/** `The refund was issued`: the noun says what was done, where the verb is no tool's own. */
function called({ verb, what, form }: Clause, words: readonly string[], tools: readonly ToolWords[]): Fit | null {
  const isOwn = (each: string): boolean => tools.some(({ verbs }) => verbs.some((own) => akin(own, each)));
  if (form === 'noun' || !LIGHT.has(verb) || isOwn(verb)) return null;
  const nouns = stemsIn(what.replace(PARTICIPLES, ' '));
  const doing = tools.filter(({ verbs }) => verbs.some((own) => nouns.some((noun) => akin(own, noun))));
  return doing.length === 0 ? null : { ...fitting(null, words, doing), verb: true };
}

const PARTICIPLES = /\p{L}+ed\b/giu;

/** A verb that is no tool's own is a deed where it is one of the usual ones, or where the things it speaks of are a tool's. */
function isDeed(clause: Clause, { tools, verb: own, score }: Fit, m: Material): boolean {
  const { verb, form } = clause;
  if (isAgentless(clause)) {
    // `The order was paid` is the customer's doing, unless a tool is called so.
    if (
      PAYING.has(verb) &&
      !/\bpaid (?:back|out)\b/i.test(clause.text) &&
      !tools.some(({ verbs: [name = ''] }) => akin(name, verb))
    )
      return false;
    if (own && (form === 'terse' || tools.some(({ nouns }) => nouns.length === 0))) return true;
    return (own || (MAKING.has(verb) && form !== 'present')) && isTheirs(clause, m);
  }
  if (own) return true;
  if (form === 'state' || form === 'noun' || LOOKING.has(verb)) return false;
  if (m.tools.some(({ changes, verbs }) => !changes && verbs.some((each) => akin(each, verb)))) return false;
  return MAKING.has(verb) || (form === 'perfect' && score >= FITS);
}

const FITS = 0.3;

/** Whether a thing is one that the tools work on or that was asked about: much was written or built that is neither. */
function isTheirs({ what }: Clause, m: Material): boolean {
  if (/\d/.test(what) || /^(?:it|they|this|that|these|those|both|you|all|everything)$/i.test(what)) return true;
  const words = stemsIn(what);
  const known = [...m.told, ...m.observations.map(({ args }) => flat(args)), ...m.tools.map(({ name }) => name)];
  return (
    m.tools.some((tool) => speaksOf(tool, words)) ||
    stemsIn(known.join('\n')).some((each) => words.some((word) => akin(each, word)))
  );
}

/** Names in the text that were an argument before, where the tools have an argument of that name. */
function targetsIn(
  scope: string,
  observations: readonly Observation[],
  tools: readonly ToolWords[],
): readonly string[] {
  const said = new Set(
    scope
      .toLowerCase()
      .split(/[^\p{L}\p{N}_@.-]+/u)
      .map((word) => word.replace(/[.-]+$/, '')),
  );
  const named = observations
    .flatMap(({ args }) => entriesOf(args))
    .filter(([key]) => tools.some(({ params }) => params.has(key)));
  return [
    ...new Set(
      named.flatMap(([, value]) => (typeof value === 'string' && said.has(value.toLowerCase()) ? [value] : [])),
    ),
  ];
}

function entriesOf(args: Json): readonly (readonly [string, Json])[] {
  return args !== null && typeof args === 'object' && !Array.isArray(args) ? Object.entries(args) : [];
}

function isAbout({ args, result = null }: Observation, name: string): boolean {
  return `${flat(args)}\n${flat(result)}`.includes(name);
}

function evened(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
}

/** Most of its words were in a claim before. */
function isRepeated(text: string, before: string): boolean {
  const known = stemsIn(before);
  const words = stemsIn(text);
  return words.filter((word) => known.some((each) => akin(each, word))).length >= words.length * REPEATED;
}

const REPEATED = 0.6;
