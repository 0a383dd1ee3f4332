/**
 * Performs the checks that stand between what a model proposes and what is done: `policy:arguments`, `policy:authorize`,
 * `policy:rate`, `policy:provenance`, `policy:output`, `policy:grounding`. Each gives a verdict with its reason; what follows from it is the flow's affair.
 */
import type { Json } from '../../expr/json.ts';
import { PerformError } from '../../runtime/failures.ts';
import type { Call, Performer } from '../../runtime/ports.ts';
import { checkArguments } from './arguments.ts';
import { authorize } from './authorize.ts';
import { checkGrounding } from '../grounding/grounding.ts';
import { checkOutput } from './output.ts';
import { checkProvenance } from './provenance.ts';
import { rateLimiter } from './rate.ts';

export function policyPerformer(): Performer {
  const limiter = rateLimiter();
  const checks: { readonly [name: string]: (call: Call) => Json } = {
    'policy:arguments': checkArguments,
    'policy:authorize': authorize,
    'policy:rate': (call) => limiter.check(call),
    'policy:provenance': checkProvenance,
    'policy:output': checkOutput,
    'policy:grounding': checkGrounding,
  };
  return {
    perform: async (call) => {
      const { kind, name } = call.command;
      const check = kind === 'check' && Object.hasOwn(checks, name) ? checks[name] : undefined;
      if (check === undefined)
        throw new PerformError({
          class: 'fatal',
          type: 'NotConfiguredError',
          message: `nobody performs the ${kind} \`${name}\``,
        });
      return { ok: true, value: check(call) };
    },
  };
}

/** Whether a command is one of these checks. */
export function isPolicyCheck({ kind, name }: Call['command']): boolean {
  return kind === 'check' && name.startsWith('policy:');
}
