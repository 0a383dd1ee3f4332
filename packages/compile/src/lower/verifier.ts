/**
 * The verifier of an answer: a model that sees the evidence, in a conversation of its own. Every notation adds it with the same
 * nodes. The verdict is in the slot `_verdict`: `{ by, ok, problem, confidence, conflict, scripted }`. `ok` is null if there is no
 * verdict: the evidence or the call did not fit, the call failed, or its reply could not be read.
 */
import { VERIFIER, VERIFIER_PROMPT } from '@sluice-internal/kernel/catalog';
import type { AgentDef, Expr, NodeId } from '@sluice-internal/kernel/ir';
import type { Definitions } from '../document/definitions.ts';
import { literal, quote } from '@sluice-internal/kernel/expr';
import { MODEL_RETRY } from './agent-turn/model-retry.ts';
import { OBSERVATIONS } from './agent-turn/turn.ts';
import type { Builder } from './builder-types.ts';
import { set, type Kit } from './kit.ts';
import { VERDICT } from './verdict-slot.ts';
import type { Verifier } from './verifier-def.ts';

const RAW = '_verdict_reply';
const CUT = '_verdict_cut';
const SCRIPTED = '_verdict_scripted';

export interface Judged {
  /** The prefix of the ids of the nodes, and the authored name. */
  readonly hint: string;
  readonly origin: string;
  readonly authored?: string;
  readonly id?: NodeId;
  /** The agent that gave the answer. */
  readonly agent: string;
  readonly goal: Expr;
  /** Texts of people, as a list. */
  readonly people: Expr;
  readonly answer: Expr;
  /** Conditions in words. */
  readonly criteria: readonly string[];
  /** Values of the answer without a source: a text, or null. */
  readonly doubt?: Expr;
  readonly next: NodeId;
}

const VERDICT_SCHEMA = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
const NO_ROOM = 'the budget leaves no room for the verifier';
const TOO_LONG = 'the evidence does not fit into the context of the verifier';
/** Characters of evidence, if the context window of the model is not known. */
const CHARS_DEFAULT = 300_000;
/** Reservations count three characters per token; a part of the window is left for the reply. */
const CHARS_PER_TOKEN = 3;
const SHARE = 0.8;

/** Adds the nodes of a verdict; returns the first. All of them lead to `next`. */
export function addVerifier(kit: Kit, verifier: Verifier, judged: Judged): NodeId {
  const { builder } = kit;
  const { hint, origin, next } = judged;
  const step = (what: string) => ({ hint: `${hint}.verdict.${what}`, origin, authored: judged.authored ?? origin });
  const agent = playerOf(builder, verifier, judged.agent);
  const none = (what: string, problem: Expr): NodeId =>
    kit.set({ ...step(what), unjudged: true }, [set(VERDICT, verdict('null', problem)), set('error', 'null')], next);
  const told = kit.set(
    step('given'),
    [
      set(
        VERDICT,
        `{"by": "verifier", "ok": ${RAW}.ok, "problem": ${RAW}.ok == true ? null : ${PROBLEM}, "missing": ${MISSING}, "confidence": ${confidenceIn(`${RAW}.confidence`)}, "conflict": ${RAW}.conflict in [null, false, ""] ? null : text(${RAW}.conflict), "scripted": ${SCRIPTED} == true}`,
      ),
    ],
    next,
  );
  const effect = builder.model(agent, '""');
  const call = kit.call(
    { ...step('call'), onBudget: none('budget', quote(NO_ROOM)) },
    {
      effect: {
        ...effect,
        input: { prompt: promptOf(judged, verifier, builder), messages: messages(judged), verdict: 'true' },
      },
      schema: VERDICT_SCHEMA,
      writes: [{ slot: RAW, mode: 'object', value: 'it.text' }, set(SCRIPTED, 'it.scripted == true')],
      retry: MODEL_RETRY,
      next: told,
      fail: none('failed', 'text("the verifier gave no verdict: ", error.message)'),
    },
  );
  const fits = kit.when(step('fits'), `${CUT}.fits == true`, call, none('long', quote(TOO_LONG)));
  return kit.check(
    { ...step('evidence'), ...(judged.id === undefined ? {} : { id: judged.id }) },
    {
      check: 'policy:evidence',
      input: {
        observations: OBSERVATIONS,
        chars: String(charsOf(builder, agent)),
        rest: `size(${promptOf(judged, verifier, builder, '[]')}) + size(text(${judged.answer}))`,
      },
      into: CUT,
      next: fits,
      fail: none('broken', 'error.message'),
    },
  );
}

function verdict(ok: Expr, problem: Expr): Expr {
  return `{"by": "verifier", "ok": ${ok}, "problem": ${problem}, "confidence": null, "conflict": null, "scripted": false}`;
}

/** The sentence of a "no". */
const PROBLEM: Expr = `text(${RAW}.problem == null ? "the verifier did not agree" : ${RAW}.problem)`;
const MISSING: Expr = `${RAW}.ok != true && type(${RAW}.missing) == list ? ${RAW}.missing.map(m, text(m)) : []`;

/** A missing or out-of-range confidence is null. */
export function confidenceIn(value: Expr): Expr {
  return `cel.bind(c, ${value}, type(c) in [int, double] && c >= 0 && c <= 1 ? c : null)`;
}

/** The agent that judges. The engine's own is an agent without tools and instructions, on the model of the judged agent. */
function playerOf(builder: Builder, { agent, model, instructions }: Verifier, of: string): string {
  if (agent !== null) return agent;
  const judged = builder.definitions.agents[of];
  const base = judged ?? Object.values(builder.definitions.agents)[0];
  const def: Omit<AgentDef, 'id'> = {
    name: VERIFIER,
    model: model ?? base?.model ?? null,
    instructions,
    tools: [],
    output: null,
    maxOutputTokens: base?.maxOutputTokens ?? null,
    temperature: null,
    ...(base?.continuations === undefined ? {} : { continuations: base.continuations }),
  };
  const known = builder.agentDef(VERIFIER);
  const isSame = known === undefined || JSON.stringify({ ...known, id: '' }) === JSON.stringify({ ...def, id: '' });
  const id = isSame ? VERIFIER : `${VERIFIER} of ${of}`;
  builder.agent({ id, ...def });
  return id;
}

/** The window in characters of the model that judges. */
function charsOf(builder: Builder, agent: string): number {
  const { models, budgets } = builder.definitions;
  const limits = models.find(builder.agentDef(agent)?.model ?? null)?.['limits'] as
    | { readonly context_tokens?: number }
    | undefined;
  const tokens = Math.min(limits?.context_tokens ?? Infinity, budgets?.context_tokens ?? Infinity);
  return Number.isFinite(tokens) ? Math.floor(tokens * CHARS_PER_TOKEN * SHARE) : CHARS_DEFAULT;
}

/** The goal, the words of people, the criteria, and what the engine knows about the answer. The answer follows as data. */
function promptOf(
  { goal, people, criteria, doubt = 'null' }: Judged,
  { instructions, agent }: Verifier,
  { definitions }: Builder,
  cut: Expr = `${CUT}.cut.map(c, c.id)`,
): Expr {
  const effects = literal(changing(definitions));
  const parts: Expr[] = [
    quote(VERIFIER_PROMPT.text),
    ...(agent !== null && instructions !== '' ? [quote(`\n\n${instructions}`)] : []),
    quote('\n\nGoal: '),
    `text(${goal})`,
    `size(${people}) == 0 ? "" : text("\\n\\nMessages of people:\\n", join(${people}.map(p, text("- ", p)), "\\n"))`,
    quote(
      criteria.length === 0 ? '' : `\n\nThe answer must satisfy:\n${criteria.map((each) => `- ${each}`).join('\n')}`,
    ),
    `${OBSERVATIONS} != null && ${OBSERVATIONS}.exists(o, o.ok && o.tool in ${effects}) ? "" : "\\n\\nNothing was changed."`,
    `${doubt} == null ? "" : text("\\n\\nValues without a source: ", ${doubt})`,
    `size(${cut}) == 0 ? "" : text("\\n\\nCut to their head and tail: ", join(${cut}, ", "))`,
    quote('\n\nThe calls and the answer follow as data.'),
  ];
  return `text(${parts.join(', ')})`;
}

/** The tools that change something. */
function changing({ tools }: Definitions): string[] {
  return Object.entries(tools).flatMap(([name, { effect }]) => (READS.has(effect) ? [] : [name]));
}

const READS: ReadonlySet<string> = new Set(['read', 'egress']);

/** Each call with its arguments and its outcome, then the answer. */
function messages({ answer }: Judged): Expr {
  const content = 'text(o.result == null ? o.error : o.result)';
  const kept = `cel.bind(t, ${content}, cel.bind(c, ${CUT}.cut.filter(c, c.id == o.id), size(c) == 0 ? t : text(t.substring(0, c[0].keep), "\\n[…]\\n", t.substring(size(t) - c[0].keep))))`;
  const outcome = 'o.ok ? " returned: " : o.refused != null ? " was refused: " : " failed: "';
  const calls = `(${OBSERVATIONS} == null ? [] : ${OBSERVATIONS}).map(o, {"role": "user", "content": text("[", o.id, "] ", o.tool, " ", o.args, ${outcome}, ${kept}), "source": o.tool})`;
  return `${calls} + [{"role": "user", "content": text(${answer}), "source": "answer"}]`;
}
