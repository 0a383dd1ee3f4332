/** The question about a refusal: a person answers with words for the agent, or ends the turn. */
import type { Asking, Expr, RefusalError } from '@sluice-internal/kernel/ir';
import { quote } from '@sluice-internal/kernel/expr';
import type { ProposedCall } from './control.ts';
import type { Trouble } from './consequence.ts';
import { refusalFields } from './packet.ts';

interface Words {
  readonly step: string;
  readonly tag: string;
  readonly error: RefusalError;
  /** Default: the reason of the refusal. */
  readonly message?: Expr;
}

/** Undefined if there is nobody to ask: the call then fails. */
export function questionAbout(
  { tool, args, agent, approvalTimeoutMs }: ProposedCall,
  about: Trouble | 'missing',
  { step, tag, error, message }: Words,
): { readonly question?: Asking } {
  if (agent === null || !agent.people) return {};
  const isMissing = about === 'missing';
  const { name: askedBy, tools } = agent;
  const shown = {
    trouble: about,
    tool: quote(tool),
    args,
    problem: '_walk.reason',
    fields: '_walk.verdict.missing',
    tools,
    observations: agent.observations,
  };
  return {
    question: {
      ask: {
        kind: 'ask',
        about: isMissing ? 'missing_info' : about,
        askedBy,
        choices: [{ name: 'respond', needs: 'text' }, { name: 'stop' }],
        onExpiry: 'stop',
        code: isMissing ? 'MISSING_INFO' : 'REVIEW_REQUIRED',
        purpose: isMissing ? 'missing_information' : 'escalation',
        input: { message: message ?? `text(${quote(`${askedBy}: `)}, _walk.reason)`, ...refusalFields(shown) },
        reserve: {},
      },
      timeoutMs: approvalTimeoutMs,
      ways: { respond: 'tell' },
      told: { step, tag, reason: 'text(_walk.reason, ". Answer: ", _walk.answer.text)' },
      error,
    },
  };
}
