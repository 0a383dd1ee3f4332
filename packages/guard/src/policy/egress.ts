/**
 * The control `egress` finds arguments that can carry confidential data off the machine. Once the run has read something from a
 * confidential tool, each word of the arguments must come from the user, the author or another tool. A word that comes from
 * the confidential data, or that only the model has named, needs approval: it can be a value in any encoding.
 */
import { listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Call } from '@sluice-internal/engine/ports';
import { approvedLeaves, checkProvenance, fieldNamesOf, isCovered, leavesOf, toolNodes } from './provenance.ts';
import type { Leaf, Observation } from './provenance.ts';
import { INVISIBLE, flat, squeezed, taintOf, type TaintSource, type TextSource } from '../text/sources.ts';
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

export function checkEgress(call: Call): Json {
  return checkAddresses(call) ?? checkSecrets(call);
}

const ADDRESS_FIELD = /^(?:url|uri|href|link|host|domain|site|endpoint)$/i;
const ADDRESS = /^(?:https?:\/\/|www\.)/i;

/**
 * Under a profile an agent reads approved sources: addresses that the user, the author or a trusted tool gave. An address
 * that text from outside brought in, or that the model made up since, needs approval. Null if there is nothing to ask about.
 */
function checkAddresses({ command, flow, ...rest }: Call): Json | null {
  const { args = null, agent } = command.input;
  if ((flow.boundaries?.[String(agent)]?.profile ?? null) === null) return null;
  const addresses = leavesOf(args).filter(
    ({ path, value }) =>
      ADDRESS_FIELD.test(path.split('.').at(-1) ?? '') || (typeof value === 'string' && ADDRESS.test(value)),
  );
  if (addresses.length === 0) return null;
  const only = Object.fromEntries(addresses.map(({ path, value }) => [path, value]));
  const verdict = checkProvenance({ ...rest, flow, command: { ...command, input: { ...command.input, args: only } } });
  return (verdict as { readonly ok?: boolean }).ok === true ? null : verdict;
}

function checkSecrets({ command, flow }: Call): Json {
  const { tool: name, args = null, agent, user = null, prompt = null, observations } = command.input;
  const { before = null, fixed = null } = command.input;
  const seen = listOf(observations) as readonly Observation[];
  const isSecret = ({ tool }: Observation): boolean => flow.tools[tool]?.confidential === true;
  const data = seen.filter(isSecret).map(({ tool, result = null }) => ({ tool, values: [result] }));
  const node = confidentialNode(flow);
  if (node !== null) data.push({ tool: node, values: [prompt, before] });
  const secrets = data.map(({ tool, values }) => taintOf(`\`${tool}\``, values));
  if (secrets.length === 0) return { ok: true, exposed: false };
  const known = knownWords([
    ...vouchingInput(user, untrustedInput(command, flow)).vouching,
    flow.agents[String(agent)]?.instructions ?? '',
    flow.tools[String(name)]?.description ?? '',
    fixed,
    ...seen.filter((each) => !isSecret(each)).map(({ result = null }) => result),
  ]);
  const approved = approvedLeaves(seen, name);
  const leaves = leavesOf(args).filter((leaf) => !isCovered(leaf, approved));
  const problems = leaves.flatMap((leaf) => problemOf(leaf, known, secrets));
  if (problems.length === 0)
    problems.push(
      ...problemOfPieces(leaves, known, data.map(({ values }) => squeezed(flat(values))).join('\n'), secrets),
    );
  problems.push(...fieldNamesOf(args).flatMap((leaf) => namedSecret(leaf, known, secrets)));
  return problems.length === 0
    ? { ok: true, exposed: true }
    : { ok: false, exposed: true, reason: problems.join('; ') };
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

function knownWords(values: readonly Json[]): ReadonlySet<string> {
  return new Set(values.flatMap((value) => wordsOf(flat(value)).flatMap((word) => [word, word.toLowerCase()])));
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
  return toolNodes(flow).find((tool) => flow.tools[tool]?.confidential === true) ?? null;
}
