/**
 * The end of a session: by a message that matches a pattern, or by the number of turns. Patterns must be expressible in the
 * linear-time regex engine.
 */
import { RE2JS } from 're2js';
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import { literal, quote, regexProblem } from '@sluice-internal/compile/expressions';
import { quoted } from '@sluice-internal/compile/source';
import type { Path } from '@sluice-internal/compile/source';
import type { Site } from './bad-turn.ts';
import { checkKey, checkPattern, distinctChecks, readChecks } from './checks.ts';
import { addGate } from './gate.ts';
import { openRules, part, success, type Gated, type Lowering } from './lowering.ts';
import { checkCondition, conditionOf, wordsOf } from './conditions.ts';
import type { Reading, Rule, Team, Termination } from './model.ts';
import type { RawTermination } from './schema/sections.ts';
import { MESSAGE, SIGNAL, TURNS } from './slots.ts';

export function readTermination(reading: Reading): Termination {
  const raw = reading.body.value.Termination;
  if (raw === undefined) return { rules: [], cap: null, sound: reading.body.sound };
  const found: Found = { rules: [], caps: [] };
  const complete = readPart(raw, ['Termination'], reading, found, { agents: null, checks: [] });
  const { rules, caps } = found;
  return { rules, cap: caps.length === 0 ? null : Math.min(...caps), sound: complete && reading.body.sound };
}

interface Found {
  readonly rules: Rule[];
  readonly caps: number[];
}
/** The messages that a rule reads, and the checks that must pass before it ends the session. A composite limits its children. */
type Limits = Pick<Rule, 'agents' | 'checks'>;

/** Collects the rules and caps of one termination and its children. False if something is missing. */
function readPart(raw: RawTermination, path: Path, reading: Reading, found: Found, above: Limits): boolean {
  const type = typeOf(raw);
  if ((raw.MaxIterations ?? 0) > 0) found.caps.push(raw.MaxIterations ?? 0);
  let complete = checkNeed(raw, type, path, reading);
  warnOfUnused(raw, type, path, reading);
  const matches = matchOf(raw, type, path, reading);
  if (matches === null && type !== 'composite') return complete;
  const limits = limitsOf(raw, path, reading, above);
  if (matches !== null) found.rules.push({ ...matches, ...limits });
  for (const [index, each] of (type === 'composite' ? (raw.Strategies ?? []) : []).entries())
    complete = readPart(each, [...path, 'Strategies', index], reading, found, limits) && complete;
  return complete;
}

/** Reports the key that the type needs, if it is absent, 0 or an empty list. A faulty key is already reported. */
function checkNeed(raw: RawTermination, type: string, path: Path, reading: Reading): boolean {
  const [key, help] = NEEDS[type] ?? ['Type', ''];
  const value = raw[key] ?? 0;
  if (value !== 0 && !(Array.isArray(value) && value.length === 0)) return true;
  if (!isFaulty(reading, path, key) && !(raw.Type === undefined && isFaulty(reading, path, 'Type')))
    reading.report.error('missing-field', reading.at(...path), `a termination of type \`${type}\` needs \`${key}\``, {
      help,
    });
  return false;
}

/** The pattern or the condition that ends the session. */
function matchOf(raw: RawTermination, type: string, path: Path, reading: Reading): Omit<Rule, keyof Limits> | null {
  const { Pattern, Condition } = raw;
  if (type === 'regex' && Pattern !== undefined) {
    checkPattern(Pattern, [...path, 'Pattern'], reading);
    return { pattern: Pattern };
  }
  if (type !== 'structured' || Condition === undefined) return null;
  checkCondition(Condition, [...path, 'Condition'], reading);
  return { pattern: '', condition: { holds: conditionOf(Condition), words: wordsOf(Condition) } };
}

function limitsOf({ AgentNames, ...raw }: RawTermination, path: Path, reading: Reading, above: Limits): Limits {
  reading.agents(AgentNames, [...path, 'AgentNames']);
  const agents = AgentNames?.filter((name) => above.agents?.includes(name) ?? true) ?? above.agents;
  const checks = [...above.checks, ...readChecks(raw, path, reading)];
  return { agents, checks: distinctChecks(checks) };
}

const LIMITED = ['regex', 'structured', 'composite'];
/** For each key: the types that read it. Every type reads `MaxIterations` and `MaxTokens`. */
const READERS: { readonly [key in keyof RawTermination]: readonly string[] } = {
  Pattern: ['regex'],
  Condition: ['structured'],
  Strategies: ['composite'],
  AgentNames: LIMITED,
  Validator: LIMITED,
  Validators: LIMITED,
  RequiredCommandPattern: LIMITED,
  ShellFallbackPattern: LIMITED,
};

function warnOfUnused(raw: RawTermination, type: string, path: Path, reading: Reading): void {
  if (isFaulty(reading, path, 'Type')) return;
  for (const [key, readers] of Object.entries(READERS))
    if (raw[key as keyof RawTermination] !== undefined && !readers.includes(type))
      reading.unused(
        [...path, key],
        `\`${key}\` has no effect in a termination of type \`${type}\``,
        `Put it into one of type ${quoted(readers)}, or leave it out.`,
      );
}

/** For each type: the key that it needs, and what to write there. */
const NEEDS: { readonly [type: string]: readonly [keyof RawTermination, string] } = {
  regex: ['Pattern', 'Write the pattern that a message must match.'],
  structured: ['Condition', 'Write the condition on a message that ends the session.'],
  tokenbudget: ['MaxTokens', 'Write the number of tokens after which the session ends.'],
  maxiterations: ['MaxIterations', 'Write the number of agent turns after which the session ends.'],
  composite: ['Strategies', 'List the terminations that may end the session.'],
};

/** The smallest `MaxTokens` of a termination and its children. 0 means no limit. */
export function tokenLimit(raw: RawTermination | undefined): number {
  const limits = [raw?.MaxTokens ?? 0, ...(raw?.Strategies ?? []).map(tokenLimit)].filter((limit) => limit > 0);
  return limits.length === 0 ? 0 : Math.min(...limits);
}

/** The written type, or the one that reads the given keys. */
function typeOf({ Type, Strategies, Pattern, Condition, MaxTokens, MaxIterations }: RawTermination): string {
  if (Type !== undefined) return Type;
  if (Strategies !== undefined) return 'composite';
  if (Pattern !== undefined) return 'regex';
  if (Condition !== undefined) return 'structured';
  return MaxTokens !== undefined && MaxIterations === undefined ? 'tokenbudget' : 'maxiterations';
}

function isFaulty({ body }: Reading, path: Path, key: string): boolean {
  return body.poisoned(...path, key) || body.damaged(...path, key);
}

/** Reports a cyclic session without an end: no message and no number of turns can end it. */
export function demandTermination(reading: Reading, team: Team, speakers: Iterable<string>): void {
  const message = `nothing ends a \`${team.strategy}\` session: no agent that speaks can match a termination, and there is no \`MaxIterations\``;
  demand(reading, team, speakers, ['Selection'], message, 'Add `Termination` with `MaxIterations`.');
}

/** The same for one place, such as a terminal state, that only the end of the session leaves. */
export function demandEnding(reading: Reading, team: Team, agent: string, path: Path, what: string): void {
  const message = `${what} can never end: no \`Termination\` reads the messages of \`${agent}\`, and there is no \`MaxIterations\``;
  demand(reading, team, [agent], path, message, 'Add a `Termination` that this agent can match, or `MaxIterations`.');
}

function demand(
  { report, at }: Reading,
  team: Team,
  speakers: Iterable<string>,
  path: Path,
  message: string,
  help: string,
): void {
  if (!report.has('unknown-agent') && !canEnd(team, speakers))
    report.error('no-termination', at(...path), message, { help });
}

export function canEnd({ termination }: Team, speakers: Iterable<string>): boolean {
  const { sound, cap, rules } = termination;
  const isMatchedBy = (agent: string): boolean => rules.some(({ agents }) => agents === null || agents.includes(agent));
  return !sound || cap !== null || [...speakers].some(isMatchedBy);
}

/**
 * Ends the session if the last message, or the keyword of its handoff call, matches a rule. Added after every turn whose
 * route was not refused. Checks in `passed` already passed in this turn and are not repeated.
 */
export function addTermination(l: Lowering, site: Site, next: NodeId, passed: ReadonlySet<string> = new Set()): NodeId {
  const speakers = site.speakers ?? [site.agent];
  const isFor = ({ agents }: Rule): boolean => agents === null || speakers.some((agent) => agents.includes(agent));
  const cases = openRules(l)
    .filter(isFor)
    .map((rule, index) => {
      const covered = l.gates.filter((gate) => covers(rule, gate, speakers));
      const checks = [...rule.checks, ...covered.flatMap((gate) => gate.checks)];
      const asks = covered.some(({ approval }) => approval) && !passed.has(APPROVED);
      const to = addGate(l, {
        site,
        key: `termination${index}`,
        what: 'the end of the session',
        checks: distinctChecks(checks).filter((check) => !passed.has(checkKey(check))),
        approval: asks ? { about: 'end', message: `${site.agent} wants to end the session.` } : null,
        recovery: null,
        pass: l.ended ?? success(l),
      });
      return { when: matches(l, rule, speakers), to };
    });
  return l.kit.pick(part(site, 'termination'), cases, next);
}

/** In the set of passed checks: a person has approved the route. */
export const APPROVED = 'approval';

/**
 * A rule that a gated keyword matches could end the session without the gate, so it passes the same gate. So does a pattern
 * that contains the keyword. An agent that may not take the route passes the gate too, unless the rule names that agent.
 */
function covers({ pattern, condition, agents: named }: Rule, gate: Gated, speakers: readonly string[]): boolean {
  const isBound = (agent: string): boolean => gate.agents.includes(agent) || named?.includes(agent) !== true;
  if (condition !== undefined || !speakers.some(isBound) || regexProblem(pattern) !== null) return false;
  return RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE).test(gate.keyword) || containsKeyword(pattern, gate.keyword);
}

/** `APPROVED BY QA` contains `APPROVED`; `NOT APPROVED` and `UNAPPROVED` are other words. */
function containsKeyword(pattern: string, keyword: string): boolean {
  const word = RE2JS.quote(keyword.trim());
  const denied = RE2JS.compile(`\\b(?:not|never|no|nothing|un|dis)[\\s_-]*${word}`, RE2JS.CASE_INSENSITIVE);
  return RE2JS.compile(`(?:^|\\W|\\\\b)${word}`, RE2JS.CASE_INSENSITIVE).test(pattern) && !denied.test(pattern);
}

function matches(l: Lowering, { pattern, condition, agents }: Rule, speakers: readonly string[]): Expr {
  const handsOff = speakers.some((agent) => l.team.members.get(agent)?.mayHandOff === true);
  const inText = `re(${MESSAGE}, ${quote(pattern)})`;
  const byText = handsOff ? `(${inText} || (${SIGNAL} != null && re(${SIGNAL}, ${quote(pattern)})))` : inText;
  const found = condition === undefined ? byText : `(${condition.holds})`;
  if (agents === null || speakers.every((agent) => agents.includes(agent))) return found;
  return `${TURNS}[size(${TURNS}) - 1] in ${literal([...agents])} && ${found}`;
}
