/**
 * Converts the arguments to the types of the tool's schema where that loses nothing, then validates them. The agent may repair
 * them twice; a person can be asked for missing fields.
 */
import { quote } from '@sluice-internal/kernel/expr';
import type { Instead } from '@sluice-internal/kernel/ir';
import { consequenceOf } from './consequence.ts';
import type { ControlFile } from './control.ts';
import { ARGUMENTS } from './errors.ts';
import { questionAbout } from './trouble.ts';

/** Attempts in a row to repair arguments. */
const REPAIRS_MAX = 2;
const WORDS = { step: 'schema', tag: 'INVALID', error: ARGUMENTS } as const;

export const argumentsControl: ControlFile = {
  name: 'arguments',
  lower(call, boundary) {
    const { tool, agent } = call;
    if (agent === null) return null;
    const last = `tail(${agent.observations}, ${REPAIRS_MAX})`;
    const often = `size(${last}) == ${REPAIRS_MAX} && ${last}.all(o, o.refused == "schema")`;
    const consequence = consequenceOf(boundary, 'malformed', null);
    const usual = consequence === 'ask' ? questionAbout(call, 'malformed', WORDS) : {};
    // If the agent gets the refusal, no person is asked about it.
    const asks = boundary.decisions.includes('clarify') && consequence !== 'tell';
    const error = { ...ARGUMENTS, code: 'MISSING_INFO' } as const;
    const message = `text(${quote(`${tool} needs: `)}, join(_walk.verdict.missing, ", "))`;
    const missing: Instead = {
      when: `${often} && size(_walk.verdict.missing) > 0`,
      onRefuse: 'ask',
      error,
      ...questionAbout(call, 'missing', { ...WORDS, error, message }),
    };
    const mayRepair = boundary.decisions.includes('repair');
    return {
      control: 'arguments',
      how: 'check',
      onRefuse: mayRepair ? 'tell' : consequence,
      with: {
        check: 'arguments',
        input: { raw: agent.raw },
        ...WORDS,
        reason: `text(${quote(`the arguments of ${tool} are not valid: `)}, _walk.reason)`,
        ...(mayRepair ? {} : usual),
        instead: [...(asks ? [missing] : []), { when: often, onRefuse: consequence, ...usual }],
      },
    };
  },
  perform: (call, { validate }) => validate(call),
};
