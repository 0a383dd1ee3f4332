/**
 * The end of a session: by a message that matches a pattern, or by the number of turns. Patterns must be expressible in the
 * linear-time regex engine.
 */
import { RE2JS } from 're2js';
import type { Expr, NodeId } from '../../../ir/nodes.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import { regexProblem } from '../../expressions/problem.ts';
import type { Path } from '../../source/located.ts';
import type { Site } from './bad-turn.ts';
import { readChecks } from './checks.ts';
import { addGate } from './gate.ts';
import { success } from './lowering.ts';
import type { Gated, Lowering } from './lowering.ts';
import { checkCondition, conditionOf, wordsOf } from './conditions.ts';
import type { RawCondition } from './schema/conditions.ts';
import type { Reading, Rule, Team, Termination } from './model.ts';
import type { RawTermination } from './schema/sections.ts';
import { SAID, SIGNAL, TURNS } from './slots.ts';

export function readTermination(reading: Reading): Termination {
  const raw = reading.body.value.Termination;
  if (raw === undefined) return { rules: [], cap: null, sound: reading.body.sound };
  const rules: Rule[] = [];
  const caps: number[] = [];
  const complete = readPart(raw, ['Termination'], reading, rules, caps);
  return { rules, cap: caps.length === 0 ? null : Math.min(...caps), sound: complete && reading.body.sound };
}

/** Collects the rules and caps of one termination and its children. False if something is missing. */
function readPart(raw: RawTermination, path: Path, reading: Reading, rules: Rule[], caps: number[]): boolean {
  const type = typeOf(raw);
  let complete = true;
  const lacks = (key: string, help: string): void => {
    complete = false;
    if (isFaulty(reading, path, key) || (raw.Type === undefined && isFaulty(reading, path, 'Type'))) return;
    const message = `a termination of type \`${type}\` needs \`${key}\``;
    reading.report.error('missing-field', reading.at(...path), message, { help });
  };
  if ((raw.MaxIterations ?? 0) > 0) caps.push(raw.MaxIterations ?? 0);
  else if (type === 'maxiterations') lacks('MaxIterations', 'Say after how many agent turns the session ends.');
  const missing = MISSING[type]?.(raw);
  if (missing !== undefined) lacks(...missing);
  rules.push(...readRules(raw, type, path, reading));
  if (type === 'composite') {
    const children = raw.Strategies ?? [];
    if (children.length === 0) lacks('Strategies', 'List what may end the session.');
    for (const [index, each] of children.entries())
      complete = readPart(each, [...path, 'Strategies', index], reading, rules, caps) && complete;
  }
  return complete;
}

function readRules(raw: RawTermination, type: string, path: Path, reading: Reading): readonly Rule[] {
  if (type === 'regex' && raw.Pattern !== undefined) return [readRule(raw, raw.Pattern, path, reading)];
  if (type === 'structured' && raw.Condition !== undefined) return [readCondition(raw, raw.Condition, path, reading)];
  return [];
}

/** For each type: the key that it lacks, and what to write. */
const MISSING: { readonly [type: string]: (raw: RawTermination) => readonly [string, string] | undefined } = {
  regex: ({ Pattern }) => (Pattern === undefined ? ['Pattern', 'Say what a message must match.'] : undefined),
  structured: ({ Condition }) =>
    Condition === undefined ? ['Condition', 'Say which field of a message ends the session.'] : undefined,
  tokenbudget: ({ MaxTokens }) =>
    MaxTokens === undefined ? ['MaxTokens', 'Say after how many tokens the session ends.'] : undefined,
};

/** The smallest `MaxTokens` of a termination and its children. 0 means no limit. */
export function tokenLimit(raw: RawTermination | undefined): number {
  const own = raw?.Type === 'tokenbudget' ? (raw.MaxTokens ?? 0) : 0;
  const limits = [own, ...(raw?.Strategies ?? []).map(tokenLimit)].filter((limit) => limit > 0);
  return limits.length === 0 ? 0 : Math.min(...limits);
}

function typeOf({ Type, Strategies, Pattern }: RawTermination): string {
  if (Type !== undefined) return Type;
  if (Strategies !== undefined) return 'composite';
  return Pattern !== undefined ? 'regex' : 'maxiterations';
}

function isFaulty({ body }: Reading, path: Path, key: string): boolean {
  return body.poisoned(...path, key) || body.damaged(...path, key);
}

function readRule(raw: RawTermination, pattern: string, path: Path, reading: Reading): Rule {
  const problem = regexProblem(pattern);
  if (problem !== null)
    reading.report.error('bad-regex', reading.at(...path, 'Pattern'), `the pattern ${problem.message}`, {
      help: problem.help,
    });
  for (const [index, name] of (raw.AgentNames ?? []).entries()) reading.agent(name, [...path, 'AgentNames', index]);
  return { pattern, agents: raw.AgentNames ?? null, checks: readChecks(raw, path, reading) };
}

function readCondition(raw: RawTermination, condition: RawCondition, path: Path, reading: Reading): Rule {
  checkCondition(condition, [...path, 'Condition'], reading);
  for (const [index, name] of (raw.AgentNames ?? []).entries()) reading.agent(name, [...path, 'AgentNames', index]);
  return {
    pattern: '',
    condition: { holds: conditionOf(condition), words: wordsOf(condition) },
    agents: raw.AgentNames ?? null,
    checks: readChecks(raw, path, reading),
  };
}

/** Reports a session that goes round and that neither a message nor a number of turns can end. */
export function demandTermination(reading: Reading, team: Team, speakers: Iterable<string>): void {
  const { report, body } = reading;
  if (report.has('unknown-agent') || canEnd(team, speakers)) return;
  report.error(
    'no-termination',
    body.at('Selection'),
    `nothing ends a \`${team.strategy}\` session: no agent that speaks can match a termination, and there is no \`MaxIterations\``,
    { help: 'Add `Termination` with `MaxIterations`.' },
  );
}

/** The same for one place, such as a terminal state, that only the end of the session leaves. */
export function demandEnding(reading: Reading, team: Team, agent: string, path: Path, what: string): void {
  const { report, at } = reading;
  if (report.has('unknown-agent') || canEnd(team, [agent])) return;
  report.error(
    'no-termination',
    at(...path),
    `${what} can never end: no \`Termination\` looks at what \`${agent}\` says, and there is no \`MaxIterations\``,
    { help: 'Add a `Termination` that this agent can match, or `MaxIterations`.' },
  );
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
      const distinct = [...new Map(checks.map((check) => [check.name, check])).values()];
      const asks = covered.some(({ approval }) => approval) && !passed.has(APPROVED);
      const to = addGate(l, {
        site,
        key: `termination${index}`,
        what: 'the end of the session',
        checks: distinct.filter(({ name }) => !passed.has(name)),
        approval: asks ? { about: 'end', message: `${site.agent} wants to end the session.` } : null,
        recovery: null,
        pass: l.ended ?? success(l),
      });
      return { when: matches(l, rule, speakers), to };
    });
  return l.kit.pick({ hint: `${site.hint}.termination`, origin: site.origin }, cases, next);
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
  const inText = `re(${SAID}, ${quote(pattern)})`;
  const byText = handsOff ? `(${inText} || (${SIGNAL} != null && re(${SIGNAL}, ${quote(pattern)})))` : inText;
  const found = condition === undefined ? byText : `(${condition.holds})`;
  if (agents === null || speakers.every((agent) => agents.includes(agent))) return found;
  return `${TURNS}[size(${TURNS}) - 1] in ${literal([...agents])} && ${found}`;
}

/** A sub-graph has no rules of its own: the session matches only the message that the sub-graph returns. */
export function openRules({ prefix, team }: Lowering): readonly Rule[] {
  return prefix === '' ? team.termination.rules : [];
}
