/**
 * Traces the arguments to their sources, by the effect class of the tool. Arguments from an untrusted source are a doubt that a
 * person decides about, or the call is refused.
 */
import { quote } from '@sluice-internal/kernel/expr';
import type { Control, Input } from '@sluice-internal/kernel/ir';
import { consequenceOf } from './consequence.ts';
import type { Boundary, ControlFile, ProposedCall, ProposingAgent } from './control.ts';
import { UNTRUSTED } from './errors.ts';
import { tracedBy, type Traced } from './reach.ts';
import { questionAbout } from './trouble.ts';

const WORDS = { step: 'risk', tag: 'DENIED', error: UNTRUSTED } as const;

export const provenanceControl: ControlFile = {
  name: 'provenance',
  lower: (call, boundary) => traced(call, boundary, 'provenance'),
  perform: (call, { traceValues }) => traceValues(call),
};

export const egressControl: ControlFile = {
  name: 'egress',
  lower: (call, boundary) => traced(call, boundary, 'egress'),
  perform: (call, { traceAddresses }) => traceAddresses(call),
};

/** Results of confidential tools leave only with approval. */
export const confidentialControl: ControlFile = {
  name: 'confidential',
  lower: (call, boundary) => traced(call, boundary, 'confidential'),
  perform: (call, { traceSecrets }) => traceSecrets(call),
};

function traced(call: ProposedCall, boundary: Boundary, control: Traced): Control | null {
  const { tool, def, agent } = call;
  if (!tracedBy(call, boundary).includes(control)) return null;
  const input = agent === null ? call.traced : sourcesOf(call, agent, control);
  if (input === undefined) return null;
  const denies = boundary.untrusted === 'deny';
  const onRefuse = agent === null || !denies ? 'fail' : consequenceOf(boundary, 'denied', def?.effect ?? 'write');
  const problem = control === 'confidential' ? 'may carry confidential data' : 'have no trusted source';
  const reason =
    agent === null
      ? quote(`the arguments of \`${tool}\` ${problem}`)
      : `text(${quote(`the arguments of ${tool} ${problem}: `)}, _walk.reason)`;
  return {
    control,
    how: 'check',
    onRefuse,
    with: {
      check: control,
      input,
      ...(denies ? {} : { asks: true }),
      ...WORDS,
      reason,
      ...(onRefuse === 'ask' ? questionAbout(call, 'denied', WORDS) : {}),
    },
  };
}

/** What was read in confidence may be in any entry of the memory, also in a trusted one. */
function sourcesOf({ unasked }: ProposedCall, { name, sources, remembered }: ProposingAgent, control: Traced): Input {
  const own = { agent: quote(name), ...sources, ...(unasked ? { unasked: 'true' } : {}) };
  return control === 'confidential' && remembered !== undefined ? { ...own, recalled: remembered } : own;
}
