/** Reads when a session ends. Patterns are for the linear-time engine: one that it cannot express is refused here. */
import { regexProblem } from '../../../expressions/problem.ts';
import type { Path } from '../../../source/located.ts';
import type { Check, Reading, Rule, Termination } from '../model.ts';
import { readChecks } from './checks.ts';
import type { RawTermination } from '../schema/termination.ts';

export function readTermination(reading: Reading): Termination {
  const raw = reading.body.value.Termination;
  if (raw === undefined) return { rules: [], cap: null, sound: reading.body.sound };
  const rules: Rule[] = [];
  const caps: number[] = [];
  const whole = walk(raw, ['Termination'], reading, rules, caps);
  return { rules, cap: caps.length === 0 ? null : Math.min(...caps), sound: whole && reading.body.sound };
}

/** False where something is missing. */
function walk(raw: RawTermination, path: Path, reading: Reading, rules: Rule[], caps: number[]): boolean {
  const { report, body } = reading;
  const poisoned = (key: string): boolean => body.poisoned(...path, key) || body.damaged(...path, key);
  const type =
    raw.Type ?? (raw.Strategies !== undefined ? 'composite' : raw.Pattern !== undefined ? 'regex' : 'maxiterations');
  let whole = true;
  const lacks = (key: string, help: string): void => {
    whole = false;
    if (poisoned(key) || (raw.Type === undefined && poisoned('Type'))) return;
    report.error('missing-field', reading.at(...path), `a termination of type \`${type}\` needs \`${key}\``, { help });
  };
  if ((raw.MaxIterations ?? 0) > 0) caps.push(raw.MaxIterations ?? 0);
  else if (type === 'maxiterations') lacks('MaxIterations', 'Say after how many agent turns the session ends.');
  if (type === 'regex') {
    if (raw.Pattern === undefined) lacks('Pattern', 'Say what a message must match.');
    else rules.push(ruleOf(raw, raw.Pattern, path, reading));
  }
  if (type === 'composite') {
    if (raw.Strategies === undefined || raw.Strategies.length === 0)
      lacks('Strategies', 'List what may end the session.');
    for (const [index, each] of (raw.Strategies ?? []).entries())
      whole = walk(each, [...path, 'Strategies', index], reading, rules, caps) && whole;
  }
  return whole;
}

function ruleOf(raw: RawTermination, pattern: string, path: Path, reading: Reading): Rule {
  const problem = regexProblem(pattern);
  if (problem !== null)
    reading.report.error('bad-regex', reading.at(...path, 'Pattern'), `the pattern ${problem.message}`, {
      help: problem.help,
    });
  for (const [index, name] of (raw.AgentNames ?? []).entries()) reading.agent(name, [...path, 'AgentNames', index]);
  const checks: readonly Check[] = readChecks(raw, path, reading);
  return { pattern, agents: raw.AgentNames ?? null, checks };
}
