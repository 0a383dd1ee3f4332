/**
 * Corrections for an agent that ended its turn without a signal. The kind follows from the tool calls of the turn. Each text
 * repeats its evidence, because the agent may no longer see it.
 */
import type { Expr, Write } from '@sluice-internal/kernel/ir';
import { OBSERVATIONS, TALK, set } from '@sluice-internal/compile/lower';
import { literal, quote } from '@sluice-internal/compile/expressions';
import type { Correction } from './bad-turn.ts';
import type { Member } from './model.ts';
import { hintsOf, type Way } from './open-gates.ts';
import { BROKEN, ENTRY, MATCHED, IDLE, MESSAGE, SIGNAL, TURN } from './slots.ts';

export interface Silence {
  readonly measures?: readonly Write[];
  readonly corrections: readonly Correction[];
}

/** What the agent may say, and where that leads. */
export interface Words {
  /** The allowed words, as a sentence. */
  readonly choice: string;
  readonly ways: readonly Way[];
  /** False if another agent has the next turn: then the work must be done again. Default: true. */
  readonly stays?: boolean;
}

/** `generic` is used if the evidence gives no better reason. All end with a near miss and what the gates still need. */
export function silenceOf(who: Member, generic: Correction, words: Words): Silence {
  const hints = hintsOf(words.ways);
  const hinted = (each: Correction): Correction => ({ ...each, text: `text(${each.text}, ${hints})` });
  if (!who.writes) return { corrections: [hinted(generic)] };
  return {
    measures: [set(IDLE, `${wrote(true)} ? 0 : ${IDLE} + 1`), set(BROKEN, `${failing()} ? ${BROKEN} + 1 : 0`)],
    corrections: [...evidenced(words), generic].map(hinted),
  };
}

/** Corrections for which the observations of the turn give a reason. The first that applies is used. */
function evidenced({ choice, stays = true }: Words): readonly Correction[] {
  const end = quote(choice === '' ? '' : ` ${choice}`);
  return [...STUCK, ...written(stays)].map(([type, when, ...parts]) => ({
    type,
    when,
    text: `text(${[...parts, end].join(', ')})`,
  }));
}

type Evidenced = readonly [type: string, when: Expr, ...parts: readonly Expr[]];

function written(stays: boolean): readonly Evidenced[] {
  return [
    [
      'files_written_no_keyword',
      inTurn('o.ok && o.tool in ["write_file", "patch_file"]'),
      quote('Files written this turn (already on disk): '),
      filesOfTurn(),
      quote(stays ? '. Do not write them again.' : '.'),
    ],
    [
      'failed_write_no_keyword',
      `${wrote(false)} && !${wrote(true)}`,
      quote('The change that you tried did not take effect: '),
      errors(),
    ],
  ];
}

const READ_ONLY = '^\\\\s*(cat|ls|grep|find|rg|wc|head|tail|echo|sed -n|git (diff|status|log|show|blame))\\\\b';

function inTurn(condition: Expr): Expr {
  return `${OBSERVATIONS}.exists(o, o.turn == ${TURN} && ${condition})`;
}

/** Holds if a tool that changes something was called. With `ok`, the call must have succeeded. */
function wrote(ok: boolean): Expr {
  return inTurn(ok ? `o.ok && ${CHANGES}` : CHANGES);
}

/** The same since the agent got the word. */
function tried(): Expr {
  return `${OBSERVATIONS}.exists(o, o.turn >= (${ENTRY} == null ? ${TURN} : ${ENTRY}) && ${CHANGES})`;
}

const CHANGES = `(o.tool in ["write_file", "patch_file", "delete_file"] || (o.tool == "shell_run" && !re(text(o.args.command), "${READ_ONLY}")))`;

function failing(): Expr {
  return inTurn('o.tool == "shell_run" && !o.ok');
}

function ran(pattern: string): Expr {
  return inTurn(`o.tool == "shell_run" && re(text(o.args.command), "${pattern}")`);
}

function filesOfTurn(): Expr {
  return `join(${OBSERVATIONS}.filter(o, o.turn == ${TURN} && o.ok && o.tool in ["write_file", "patch_file"]).map(o, text(o.args.path)), ", ")`;
}

function errors(): Expr {
  return `join(${OBSERVATIONS}.filter(o, o.turn == ${TURN} && !o.ok).map(o, text(o.tool, ": ", o.error == null ? o.result : o.error)), "; ")`;
}

function lastFailing(): Expr {
  return `join(tail(${OBSERVATIONS}.filter(o, o.turn == ${TURN} && o.tool == "shell_run" && !o.ok), 1).map(o, text(o.args.command)), "")`;
}

/** What the work of the turn shows. */
const STUCK: readonly Evidenced[] = [
  [
    'build_failure',
    `${failing()} && ${ran('\\\\bgit\\\\s+(restore|reset)\\\\b')}`,
    quote(
      'BUILD FAILURE: a command failed and the changes were then thrown away. Find out why it failed, and correct that.',
    ),
  ],
  [
    'stagnation_failed_writes',
    `${IDLE} >= 2 && ${wrote(false)}`,
    quote('STUCK — ALL WRITES REJECTED ('),
    IDLE,
    quote(' turns). None of the changes that you tried took effect: '),
    errors(),
  ],
  [
    'stagnation',
    `${IDLE} >= 2`,
    quote('STAGNATION ('),
    IDLE,
    quote(' read-only turns). Nothing was changed. Write the file or run the command now.'),
  ],
  [
    'code_block',
    `${MESSAGE}.contains("\`\`\`") && !${tried()}`,
    quote('CRITICAL: Code blocks are NOT written to disk. Call `write_file` with the content.'),
  ],
  [
    'persistent_build_failure',
    `${BROKEN} >= 2`,
    quote('PERSISTENT BUILD FAILURE ('),
    BROKEN,
    quote(' turns). The last failing command: '),
    lastFailing(),
  ],
];

/** The allowed keywords, as a sentence. */
export function choiceOf(what: string, words: readonly string[]): string {
  return words.length === 0 ? '' : `Valid ${what}s, each alone on a line: ${words.join(', ')}.`;
}

/** The correction for a message with more than one keyword or signal. */
export function severalOf(what: 'keyword' | 'signal', choice: string): Correction {
  const end = quote(`. Say exactly one. ${choice}`);
  return {
    type: `multi_${what}`,
    text: `text("MULTI-${what.toUpperCase()}: you said ", join(${MATCHED}, " and "), ${end})`,
  };
}

/**
 * The phrases in a turn: from the handoff call if there is one, otherwise from the text. If the last message has no phrase,
 * the two messages before it in the same turn are read, the newer one first.
 */
export function matchedPhrases(phrases: readonly string[], strict: boolean): Expr {
  const words = literal([...phrases]);
  const marks = (text: Expr): Expr => `${strict ? 'alone' : 'leading'}(${text}, ${words})`;
  const before = `tail(${TALK}.filter(m, m.role == "assistant"), 3).map(m, ${marks('m.content')}).filter(x, size(x) > 0)`;
  const inText = `cel.bind(h, ${marks(MESSAGE)}, size(h) > 0 || size(${TALK}) < 2 ? h : cel.bind(t, ${before}, size(t) == 0 ? [] : t[size(t) - 1]))`;
  return `${SIGNAL} != null ? ${words}.filter(w, lower(w) == lower(${SIGNAL})) : ${inText}`;
}
