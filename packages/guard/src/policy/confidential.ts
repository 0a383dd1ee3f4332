/**
 * The control `confidential` finds arguments that can carry what the run read in confidence. Once it has read something from a
 * confidential tool, each word of a call of any class but `read` must come from the user, the author or another tool. A word that
 * comes from the confidential data, or that only the model has named, needs approval: it can be a value in any encoding. A tool
 * that was given such a word can return it in another form, so its result counts as confidential too.
 */
import { listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Call } from '@sluice-internal/engine/ports';
import { approvedLeaves, fieldNamesOf, isCovered, leavesOf, toolNodes } from './provenance.ts';
import type { Leaf, Observation } from './provenance.ts';
import { INVISIBLE, flat, isFilled, squeezed, taintOf, type TaintSource, type TextSource } from '../text/sources.ts';
import { percentDecoded, squeezedReadings } from './disguises.ts';
import { untrustedInput, vouchingInput } from './input-trust.ts';

/** Words up to this length, and whole numbers below `NUMBER_FREE`, are judged together. */
const WORD_FREE = 2;
const NUMBER_FREE = 100;
/** A call may have so many characters in short words that no source has. */
const PIECES_MAX = 5;
/** So many characters of pieces in a row are a find in confidential data. */
const PIECES_FOUND = 3;
const FUNCTION_WORDS = new Set('a an of to in on at by is it or as be do i my we us me up so no if'.split(' '));
const SCHEME: ReadonlySet<string> = new Set(['http', 'https', 'www']);

export function checkSecrets(call: Call): Json {
  const { tool, args = null, observations } = call.command.input;
  const seen = listOf(observations) as readonly Observation[];
  const reading = readingOf(call, seen);
  if (!reading.exposed) return { ok: true, exposed: false };
  const approved = approvedLeaves(seen, tool);
  const open = leavesOf(args).filter((leaf) => !isCovered(leaf, approved));
  const problems = reading.problemsOf(open, args);
  return problems.length === 0
    ? { ok: true, exposed: true }
    : { ok: false, exposed: true, reason: problems.join('; ') };
}

function readingOf({ command, flow }: Call, seen: readonly Observation[]): Reading {
  const { tool, agent, user, fixed, prompt, before, errors, recalled } = command.input;
  const reading = new Reading([
    ...vouchingInput(user ?? null, untrustedInput(command, flow)).vouching,
    flow.agents[String(agent)]?.instructions,
    flow.tools[String(tool)]?.description,
    fixed,
  ]);
  const node = confidentialNode(flow);
  if (node !== null) reading.keep(node, [prompt, before, errors]);
  reading.keep('memory', [recalled]);
  for (const each of seen) reading.observe(each, flow.tools[each.tool]?.confidential === true);
  return reading;
}

type Given = Json | undefined;

/** What was read in confidence, and the words that have another source. */
class Reading {
  readonly #known = new Set<string>();
  readonly #secrets: TaintSource[] = [];
  #confidential = '';

  constructor(vouching: readonly Given[]) {
    this.#vouch(vouching);
  }

  get exposed(): boolean {
    return this.#secrets.length > 0;
  }

  #vouch(values: readonly Given[]): void {
    for (const value of values)
      for (const word of wordsOf(flat(value ?? ''))) this.#known.add(word).add(word.toLowerCase());
  }

  /** A tool that is not confidential can return what it was given. */
  observe({ tool, args = null, result, error }: Observation, isSecret: boolean): void {
    if (isSecret || this.problemsOf(leavesOf(args), args).length > 0) this.keep(`\`${tool}\``, [result, error]);
    else this.#vouch([result]);
  }

  keep(source: string, given: readonly Given[]): void {
    const values = given.flatMap((value) => (value === undefined ? [] : [value]));
    if (!values.some(isFilled)) return;
    this.#secrets.push(taintOf(source, values));
    this.#confidential += `${squeezed(flat(values))}\n`;
  }

  /** Why the arguments may carry what was read. */
  problemsOf(leaves: readonly Leaf[], args: Json): readonly string[] {
    if (!this.exposed) return [];
    const problems = leaves.flatMap((leaf) => problemOf(leaf, this.#known, this.#secrets));
    if (problems.length === 0)
      problems.push(...problemOfPieces(leaves, this.#known, this.#confidential, this.#secrets));
    problems.push(...fieldNamesOf(args).flatMap((leaf) => namedSecret(leaf, this.#known, this.#secrets)));
    return problems;
  }
}

function problemOf({ path, value }: Leaf, known: ReadonlySet<string>, secrets: readonly TextSource[]): string[] {
  if (typeof value === 'boolean' || isShortNumber(value)) return [];
  const word = wordsOf(String(value)).find((each) => each.length > WORD_FREE && !known.has(each));
  return word === undefined ? [] : [explain(path, word, secrets)];
}

/** Short words and numbers that carry a value in pieces. A page number or a language alone does not. */
function problemOfPieces(
  leaves: readonly Leaf[],
  known: ReadonlySet<string>,
  confidential: string,
  secrets: readonly TextSource[],
): string[] {
  const pieces = leaves.flatMap(({ value }) =>
    typeof value === 'boolean' ? [] : wordsOf(String(value)).filter((word) => word.length <= WORD_FREE),
  );
  const joined = pieces.join('');
  const length = pieces.filter((word) => !known.has(word) && !FUNCTION_WORDS.has(word)).join('').length;
  const isFound = pieces.length > 1 && joined.length >= PIECES_FOUND && confidential.includes(joined);
  return isFound || length > PIECES_MAX ? [explain('args', joined, secrets)] : [];
}

function isShortNumber(value: Leaf['value']): boolean {
  return Number.isInteger(value) && Math.abs(Number(value)) < NUMBER_FREE;
}

/** The name of a field that is a word of the confidential data, as it stands or in code. */
function namedSecret({ path, value }: Leaf, known: ReadonlySet<string>, secrets: readonly TaintSource[]): string[] {
  const name = String(value);
  const word = wordsOf(name).find(
    (each) => each.length > WORD_FREE && !known.has(each) && secrets.some((source) => source.has(each)),
  );
  const hidden = secrets.flatMap((source) => source.namesWithin(squeezedReadings(name)))[0];
  const found = word ?? hidden;
  return found === undefined ? [] : [explain(path, found, secrets)];
}

/** Capital letters inside a word can carry data: `aBcDEf`. */
const MIXED_CASE = /[\p{L}\p{N}]\p{Lu}.*\p{Ll}|\p{Ll}.*\p{Lu}/u;

/** The words of a text or an address, with percent codes decoded. Only words of mixed case keep their case. */
function wordsOf(value: string): readonly string[] {
  const plain = (percentDecoded(value.replaceAll('+', ' ')) ?? value).normalize('NFKC').replace(INVISIBLE, '');
  const words = plain.split(/[^\p{L}\p{N}@._-]+/u).map((word) => word.replace(/^[._-]+|[._-]+$/g, ''));
  const folded = words.map((word) => (MIXED_CASE.test(word) ? word : word.toLowerCase()));
  return folded.filter((word) => word !== '' && !SCHEME.has(word));
}

function explain(path: string, word: string, secrets: readonly TextSource[]): string {
  const source = secrets.find((each) => each.has(word));
  const what = `\`${path}\` has \`${word.slice(0, 80)}\``;
  if (source !== undefined) return `${what}, which ${source.name} keeps confidential`;
  return `${what}, which can carry confidential data of ${secrets[0]?.name ?? 'a tool'}`;
}

/** A tool node with a confidential tool may have put its result into the prompt. */
function confidentialNode(flow: Call['flow']): string | null {
  const tool = toolNodes(flow).find((each) => flow.tools[each]?.confidential === true);
  return tool === undefined ? null : `\`${tool}\``;
}
