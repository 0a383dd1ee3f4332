/**
 * Performs the `policy:` checks. Each returns a verdict with a reason; the flow decides what follows. To add a check, write one
 * function and list it here.
 */
import type { Json } from '../../expr/json.ts';
import { fail } from '../../runtime/failures.ts';
import type { Call, Performer } from '../../runtime/ports.ts';
import { authorize, authorizeStage } from './authorize.ts';
import { checkCites } from '../grounding/cites.ts';
import { checkAnswer } from '../grounding/answer.ts';
import { checkBound } from '../grounding/bind.ts';
import { checkDeeds } from '../grounding/deeds.ts';
import { checkGrounding } from '../grounding/grounding.ts';
import { checkArguments, checkOutput } from './schema-checks.ts';
import { checkEgress } from './egress.ts';
import { checkProvenance } from './provenance.ts';
import { checkResult } from './result.ts';
import { rateLimiter } from './rate.ts';

export function policyPerformer(): Performer {
  const checks: { readonly [name: string]: (call: Call) => Json } = {
    'policy:arguments': checkArguments,
    'policy:authorize': authorize,
    'policy:stage': authorizeStage,
    'policy:rate': rateLimiter(),
    'policy:provenance': checkProvenance,
    'policy:egress': checkEgress,
    'policy:output': checkOutput,
    'policy:result': checkResult,
    'policy:grounding': checkGrounding,
    'policy:deeds': checkDeeds,
    'policy:answer': checkAnswer,
    'policy:bind': checkBound,
    'policy:cites': checkCites,
  };
  return {
    perform: async (call) => {
      const { kind, name } = call.command;
      const check = kind === 'check' && Object.hasOwn(checks, name) ? checks[name] : undefined;
      if (check === undefined) throw fail('fatal', 'NotConfiguredError', `There is no ${kind} \`${name}\`.`);
      return { ok: true, value: check(call) };
    },
  };
}

/** The command is one of these checks. */
export function isPolicyCheck({ kind, name }: Call['command']): boolean {
  return kind === 'check' && name.startsWith('policy:');
}
