/**
 * A question as a person reads it: the question first, then what a yes does, and everything else that helps to decide. It has at most
 * 25 lines; `packetLines` has the rest.
 */
import { BUDGET_ROWS, onlyReads } from '@sluice-internal/kernel/ir';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Packet, PacketEffect, PacketEvidence, PacketRepeat, Waiting } from '@sluice-internal/engine/ports';
import { dollars, harmless, oneLine, pad, plural, unpadded, wrap } from '@sluice-internal/library/documents';

/** The most lines of a question on a terminal, its choices included. */
export const QUESTION_LINES_MAX = 25;

/** A part of a question. Of a long question, the last parts lose lines first, down to `least`. */
export interface Section {
  readonly name: string;
  readonly texts: readonly string[];
  readonly least: number;
}

const ARGS_MAX = 160;
const WORDS_MAX = 300;
const VALUE_MAX = 110;
const EACH_MAX = 4;

/** The parts after the question itself, the most important ones first. */
export function sectionsOf({ packet, askedBy }: Pick<Waiting, 'packet' | 'askedBy'>): readonly Section[] {
  const { goal, user, effects, why, evidence, repeats, receipts, expires, onExpiry } = packet;
  const words = why.words === null ? [] : [`"${oneLine(why.words, WORDS_MAX)}" (${oneLine(askedBy, 40)})`];
  const by = user === null ? '' : ` (${oneLine(user, 40)})`;
  const confidence = why.confidence === null ? [] : [`confidence ${why.confidence}`];
  const told = effects.flatMap(({ problem }) => problem ?? []);
  const problem = why.problem === null || told.includes(why.problem) ? [] : [oneLine(why.problem, WORDS_MAX)];
  const rule = why.rule === null ? [] : [`rule: ${oneLine(why.rule, 100)}`];
  const all: readonly Section[] = [
    { name: 'goal', texts: goal === '' ? [] : [`"${oneLine(goal, WORDS_MAX)}"${by}`], least: 1 },
    { name: 'on yes', texts: effectTexts(packet), least: 3 },
    { name: 'careful', texts: carefulTexts(packet, askedBy), least: 2 },
    { name: 'again', texts: repeats.map(repeatText), least: 1 },
    { name: 'why', texts: [...words, ...problem, ...confidence, ...rule], least: 2 },
    { name: 'evidence', texts: evidence.map((each) => evidenceText(each, packet)), least: 1 },
    { name: 'done', texts: receipts.length === 0 ? ['Nothing was changed so far.'] : receipts.map(doneText), least: 1 },
    { name: 'left', texts: leftTexts(packet), least: 1 },
    { name: 'until', texts: expires === null ? [] : [`${expires}, then it counts as ${oneLine(onExpiry)}`], least: 1 },
  ];
  return all.filter(({ texts }) => texts.length > 0);
}

/** These parts as rows: a name, and a line beside it. `left` is the number of lines that did not fit. */
export function fittedSections(
  sections: readonly Section[],
  width: number,
  linesMax: number,
): { readonly rows: readonly (readonly [string, string])[]; readonly left: number } {
  const parts = sections.map(({ texts, least }) => {
    const lines = texts.flatMap((text) => hanging(text, Math.max(10, width - NAME_WIDTH)));
    return { lines, least, kept: lines.length };
  });
  const all = parts.reduce((sum, { lines }) => sum + lines.length, 0);
  let over = Math.max(0, all - linesMax);
  for (const part of parts.toReversed()) {
    const cut = Math.min(over, Math.max(0, part.kept - part.least));
    part.kept -= cut;
    over -= cut;
  }
  const shown = parts.flatMap(({ lines, kept }, index) =>
    lines.slice(0, kept).map((line, at) => [at === 0 ? (sections[index]?.name ?? '') : '', line] as const),
  );
  const rows = shown.slice(0, Math.max(1, linesMax));
  return { rows, left: all - rows.length };
}

/** The longest name, and the gap. */
const NAME_WIDTH = 10;

/** The same as lines. */
export function sectionLines(rows: readonly (readonly [string, string])[]): readonly string[] {
  return rows.map(([name, line]) => `${pad(name, NAME_WIDTH)}${line}`);
}

function hanging(text: string, width: number): readonly string[] {
  return wrap(unpadded(harmless(text)), width - 2).map((line, index) => (index === 0 ? line : `  ${line}`));
}

function effectTexts({ effects }: Packet): readonly string[] {
  const certain = effects.filter((each) => each.certain).flatMap(certainTexts);
  const agents = Map.groupBy(
    effects.filter((each) => !each.certain),
    ({ agent = '' }) => agent,
  );
  const may = [...agents].map(([agent, all]) => {
    const calls = all.map(
      ({ tool, call = 'runs', undo }) => `${tool} (${call}${undo === null ? '' : `, undone by ${undo}`})`,
    );
    return `${oneLine(agent, 40)} may call: ${calls.map((each) => oneLine(each, 80)).join(', ')}`;
  });
  const all = [...certain, ...may];
  return all.length === 0 ? ['no call that changes anything'] : all;
}

function certainTexts(effect: PacketEffect): readonly string[] {
  const { tool, amount, payee, recipients, undo, times, each = [], costUsd } = effect;
  const count = times.most === null ? ', several times' : times.most === 1 ? '' : `, ${times.most} times`;
  const facts = [
    ...(amount === null ? [] : [`amount ${shortText(amount)}${totalText(effect)}`]),
    ...(payee === null ? [] : [`payee ${shortText(payee)}`]),
    ...(recipients.length === 0 ? [] : [`to ${recipients.map(shortText).join(', ')}`]),
    ...(costUsd > 0 ? [`costs ${dollars(costUsd)}`] : []),
    ...(onlyReads(effect.effect) ? ['changes nothing'] : undo === null ? ['cannot be undone'] : [`undone by ${undo}`]),
  ];
  const calls = each.slice(0, EACH_MAX).map((args) => `  ${argsText(args)}`);
  const more = each.length > EACH_MAX ? [`  and ${each.length - EACH_MAX} more`] : [];
  const args = each.length > 0 ? [...calls, ...more] : ownArguments(effect);
  return [`${oneLine(tool, 80)} (${effect.effect}${count}): ${facts.join('; ')}`, ...args];
}

function ownArguments({ args, known = {} }: PacketEffect): readonly string[] {
  if (args !== null) return isRecord(args) && Object.keys(args).length === 0 ? [] : [`  ${argsText(args)}`];
  const parts = Object.keys(known).length === 0 ? '' : `; known: ${argsText(known)}`;
  return [`  its arguments are not all known yet${parts}`];
}

/** The amounts of several calls together. */
function totalText({ amount, times: { most } }: PacketEffect): string {
  return typeof amount === 'number' && most !== null && most > 1
    ? ` each, ${Number((amount * most).toFixed(6))} in all`
    : '';
}

function argsText(args: Json): string {
  return oneLine(plain(args), ARGS_MAX);
}

function shortText(value: Json): string {
  return oneLine(plain(value), VALUE_MAX);
}

/** Names and values, not JSON. */
function plain(value: Json): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map((each: Json) => plain(each)).join(value.some(isRecord) ? '; ' : ', ');
  if (!isRecord(value)) return JSON.stringify(value);
  const fields = Object.entries(value);
  return fields.map(([name, each]) => `${name} ${isRecord(each) ? `(${plain(each)})` : plain(each)}`).join(', ');
}

/** Values that no trusted source has, and facts that the document states without a value. */
function carefulTexts({ effects }: Packet, asker: string): readonly string[] {
  return effects.flatMap(({ tool, args, sources, problem, certain }) => {
    if (!certain) return [];
    const doubtful = sources.filter(({ trusted }) => !trusted);
    const texts = doubtful.map(({ path, from }) => {
      const source =
        from === asker ? `written by ${oneLine(from, 40)} itself` : `from ${oneLine(from, 40)} (not trusted)`;
      return `${path} ${shortText(valueAt(args, path))}, ${source}`;
    });
    return [...(problem === undefined ? [] : [`${tool}: ${oneLine(problem, WORDS_MAX)}`]), ...texts];
  });
}

function valueAt(args: Json, path: string): Json {
  let value = args;
  for (const key of path.split('.')) {
    const next: unknown =
      typeof value === 'object' && value !== null ? (value as { [key: string]: Json })[key] : undefined;
    if (next === undefined) return '';
    value = next as Json;
  }
  return value;
}

function repeatText({ tool, at, result, status }: PacketRepeat): string {
  const returned = result === null ? '' : `: ${shortText(result)}`;
  return `the same call of ${oneLine(tool, 80)} was made at ${at}${returned} (${status})`;
}

function doneText({ tool, args, result, status }: PacketRepeat): string {
  const returned = result === null ? '' : ` -> ${shortText(result)}`;
  return `${oneLine(tool, 80)} ${argsText(args)}${returned}${status === 'committed' ? '' : ` (${status})`}`;
}

/** An observation around the values that it gave. */
function evidenceText({ from, trusted, value, args = null, shows = [] }: PacketEvidence, packet: Packet): string {
  const called = args === null ? '' : ` ${argsText(args)}`;
  const found = shows.flatMap((path) =>
    packet.effects.map((effect) => valueAt(effect.args, path)).filter((each) => each !== ''),
  );
  const excerpt = around(oneLine(plain(value)), found.map(plain));
  return `${oneLine(from, 60)}${called}${trusted ? '' : ' (not trusted)'}: ${excerpt}`;
}

const EXCERPT = 160;

/** The part of a long text that has the first of these values, in brackets. */
function around(text: string, values: readonly string[]): string {
  const [value = '', at = -1] =
    values.map((each) => [each, text.indexOf(each)] as const).find(([, place]) => place >= 0) ?? [];
  const from = text.length <= EXCERPT || at < 0 ? 0 : Math.max(0, at - EXCERPT / 2);
  const part = text.slice(from, from + EXCERPT).toWellFormed();
  const marked = at < 0 || value.length > EXCERPT / 2 ? part : part.replace(value, () => `[${value}]`);
  return `${from > 0 ? '…' : ''}${marked}${from + EXCERPT < text.length ? '…' : ''}`;
}

function leftTexts({ left }: Packet): readonly string[] {
  const parts = BUDGET_ROWS.flatMap(({ measure, one, many }) => {
    const amount = left[measure];
    if (amount === undefined) return [];
    return [measure === 'costUsd' ? dollars(amount) : plural(amount, one, many)];
  });
  return parts.length === 0 ? [] : [parts.join(', ')];
}
