/** The rate limit of a tool, over all runs of a tenant. A call above it waits. */
import type { ControlFile } from './control.ts';
import { consequenceOf } from './consequence.ts';
import { RATE } from './errors.ts';
import { questionAbout } from './trouble.ts';

/** One call waits this often. */
const WAITS_MAX = 3;
const WORDS = { tag: 'RATE LIMITED', error: RATE } as const;

export const rateControl: ControlFile = {
  name: 'rate',
  lower(call, boundary) {
    if (call.def?.rate === undefined) return null;
    const onRefuse = call.agent === null ? 'fail' : consequenceOf(boundary, 'rate', call.def.effect);
    const question = onRefuse === 'ask' ? questionAbout(call, 'rate', { step: 'rate', ...WORDS }) : {};
    return {
      control: 'rate',
      how: 'check',
      onRefuse,
      volatile: true,
      with: { check: 'rate', input: {}, waits: WAITS_MAX, ...WORDS, ...question },
    };
  },
  perform: (call, { takeToken }) => takeToken(call),
};
