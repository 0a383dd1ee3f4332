/** Airline runs with one result taken out, call and answer alike, but not the words that rest on it. */
import { readFileSync } from 'node:fs';
import type { CompiledFlow } from '../../src/ir/nodes.ts';
import { AIRLINE, airlineDocument, isThere, MUTATING, playOf } from './airline.ts';
import type { Trajectory } from './airline.ts';
import { compileLoop, drive } from './drive.ts';

/** What only works on its arguments, or shows nothing of the customer. */
const NEUTRAL = ['calculate', 'think'];
const READING = ['get_reservation_details', 'get_user_details', 'search_direct_flight', 'search_onestop_flight'];

/** The clerk with the rules that the real one was given, and a loop that ends where something is claimed that nothing shows. */
export function strictAirline(): CompiledFlow | null {
  if (!isThere()) return null;
  const document = airlineDocument({ steps: 200 }) as { agents: readonly object[]; tools: { [name: string]: object } };
  const policy = readFileSync(new URL('airline_policy.md', AIRLINE), 'utf8');
  return compileLoop({
    ...document,
    agents: document.agents.map((agent) => ({ ...agent, instructions: policy })),
    tools: {
      ...document.tools,
      ...Object.fromEntries(NEUTRAL.map((name) => [name, { ...document.tools[name], trust: 'neutral' }])),
    },
    // A call that the loop detector holds back would make its report a false claim. This measures the check alone.
    protections: { loop: false },
    loop: { agent: 'clerk', grounding: { on_violation: 'halt' } },
  });
}

/** Whoever asks is answered as the customer was; whoever wants to act is let. What the loop did not let pass, or null. */
export async function violationIn(flow: CompiledFlow, trajectory: Trajectory): Promise<string | null> {
  const { script, input, answers } = playOf(trajectory);
  const told = answers.map((text) => ({ choice: 'respond', text }));
  const approvals = { missing_info: told, ...Object.fromEntries([...MUTATING].map((name) => [name, 'approve'])) };
  const { report } = await drive(flow, { ...script, strict: false, approvals }, { input });
  return report.error?.type === 'GroundingError' ? report.error.message : null;
}

/** The same words without anybody who did it: `has been cancelled` as `was cancelled`, `I have cancelled` as `Cancelled`. */
export function withoutDoer({ messages, ...rest }: Trajectory): Trajectory {
  const recast = (text: string): string =>
    text
      .replace(/\bhas been\b/g, 'was')
      .replace(/\bhave been\b/g, 'were')
      .replace(/\b(is|are) now\b/g, '$1')
      .replace(/\bsuccessfully /g, '')
      .replace(
        /(^|[.!?\n]\s*)(?:I|We)(?: have|['’]ve) (\w)(?=\w*(?:ed|sent|made)\b)/g,
        (_, before: string, first: string) => `${before}${first.toUpperCase()}`,
      );
  return {
    ...rest,
    messages: messages.map((message) =>
      message.role === 'assistant' && typeof message.content === 'string'
        ? { ...message, content: recast(message.content) }
        : message,
    ),
  };
}

/** Without the last successful call of that kind that words follow; null where there is none. */
export function withoutLast(trajectory: Trajectory, kind: 'changing' | 'reading'): Trajectory | null {
  const { messages } = trajectory;
  const fits = (name: string): boolean => (kind === 'changing' ? MUTATING.has(name) : READING.includes(name));
  const spoken = messages.findLastIndex(
    ({ role, tool_calls }) => role === 'assistant' && (tool_calls ?? []).length === 0,
  );
  const at = messages.findLastIndex(
    ({ tool_calls = [] }, index) =>
      index < spoken &&
      tool_calls.some(({ name }) => fits(name)) &&
      messages[index + 1]?.content?.startsWith('Error') !== true,
  );
  return at < 0 ? null : { ...trajectory, messages: messages.filter((_, index) => index !== at && index !== at + 1) };
}
