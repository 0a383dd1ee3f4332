/** Policy regression: the same trajectory under the document before and after a change. */
import type { ThreadId } from '@sluice-internal/kernel/ir';
import { printOf, type Measured } from '../journal/record.ts';
import { resultOf, type CaseResult, type PreparedCase } from './modes.ts';
import { runCase, type CaseRun } from './run-case.ts';

export interface PolicyChange {
  readonly case: string;
  readonly call: string;
  /** `absent` for a call that the earlier document did not come to. */
  readonly before: Verdict | 'absent';
  readonly after: Verdict;
}
type Verdict = 'allowed' | 'asked' | 'denied';

/** Compares the verdict on each call. A verdict that is less strict than before fails, unless `allowed` names the tool. */
export async function comparePolicies(
  prepared: PreparedCase,
  before: CaseRun,
  allowed: readonly string[],
): Promise<{
  readonly changes: readonly PolicyChange[];
  readonly result: CaseResult;
}> {
  const [old, now] = [verdictsIn(await runCase(before)), verdictsIn(await runCase(prepared.run))];
  const changes = [...now].flatMap(([call, { verdict: after, changes: hasEffect }]): PolicyChange[] => {
    const was = old.get(call)?.verdict ?? 'absent';
    if (was === after || (was === 'absent' && (!hasEffect || after === 'denied'))) return [];
    return [{ case: prepared.name, call, before: was, after }];
  });
  const problems = changes
    .filter(({ call, before: was, after }) => isLoosened(was, after) && !allowed.includes(call.split(' ')[0] ?? ''))
    .map(({ call, before: was, after }) => `${call} was ${was === 'absent' ? 'not made' : was} and is now ${after}`);
  return { changes, result: resultOf('policy', `${prepared.name} [policy]`, problems) };
}

const HARMLESS: ReadonlySet<string> = new Set(['read', 'egress']);
const STRICTNESS: { readonly [verdict in Verdict]: number } = { allowed: 0, asked: 1, denied: 2 };

/** A new call that changes something needs a question as well. */
function isLoosened(before: PolicyChange['before'], after: Verdict): boolean {
  return before === 'absent' ? after === 'allowed' : STRICTNESS[after] < STRICTNESS[before];
}

interface Judged {
  readonly verdict: Verdict;
  /** The call can change something. */
  readonly changes: boolean;
}

/**
 * The strictest verdict of each call, by tool and arguments. A call that changes something counts as asked after a question
 * of an approval node on its way, so that a way around the node is a loosening.
 */
function verdictsIn({ calls, refused, read }: Measured): ReadonlyMap<string, Judged> {
  const verdicts = new Map<string, Judged>();
  const { tools } = read.program.flow;
  const add = (tool: string, print: string, verdict: Verdict): void => {
    const known = verdicts.get(print);
    const changes = !HARMLESS.has(tools[tool]?.effect ?? 'write');
    if (known === undefined || STRICTNESS[verdict] > STRICTNESS[known.verdict])
      verdicts.set(print, { verdict, changes });
  };
  const gates = calls.filter(({ question, input }) => question !== null && typeof input['tool'] !== 'string');
  for (const { kind, name, print, seq, thread } of calls) {
    if (kind !== 'tool') continue;
    const isGated = gates.some((gate) => gate.seq < seq && isOnTheWay(gate.thread, thread));
    add(name, print, isGated && !HARMLESS.has(tools[name]?.effect ?? 'write') ? 'asked' : 'allowed');
  }
  for (const { question, input } of calls)
    if (question !== null && typeof input['tool'] === 'string')
      add(input['tool'], printOf(input['tool'], input['args'] ?? null), 'asked');
  for (const { tool, args, check } of refused) if (check !== 'schema') add(tool, printOf(tool, args), 'denied');
  return verdicts;
}

/**
 * True if what happened in one branch comes before what happens later in the other. The id of a branch lists its forks,
 * each with a number that rises: `0:3.1` is the second branch of a fork. Two branches of one fork run beside each other.
 */
export function isOnTheWay(earlier: ThreadId, later: ThreadId): boolean {
  const [a, b] = [earlier.split(':'), later.split(':')];
  const at = a.findIndex((part, index) => part !== b[index]);
  if (at === -1 || at >= b.length) return true;
  const forkOf = (part: string | undefined): number => Number(part?.split('.')[0]);
  return forkOf(a[at]) < forkOf(b[at]);
}
