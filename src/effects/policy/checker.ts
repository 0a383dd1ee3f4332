/** Checks policies against what they can speak of, for a compiler that has no policy engine of its own. */
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';
import type { PolicyChecker, PolicyProblem } from '../../catalog/policy-schema.ts';
import { cedar } from './cedar.ts';

export const checkPolicy: PolicyChecker = (text, schema) => {
  const answer = cedar().validate({
    schema: schema as unknown as Cedar.SchemaJson<string>,
    policies: { staticPolicies: text },
    validationSettings: { mode: 'strict' },
  });
  if (answer.type === 'failure')
    return { problems: answer.errors.map((error) => problem(error, text, 'error')), permits: true };
  const errors = answer.validationErrors.map(({ error }) => problem(error, text, 'error'));
  // What is impossible only because it is wrong has been said.
  const warnings =
    errors.length > 0 ? [] : answer.validationWarnings.map(({ error }) => problem(error, text, 'warning'));
  return { problems: [...errors, ...warnings], permits: effectsIn(text).includes('permit') };
};

function problem(
  { message, help, sourceLocations: [where] = [] }: Cedar.DetailedError,
  text: string,
  severity: PolicyProblem['severity'],
): PolicyProblem {
  return {
    severity,
    message: message
      .replace(/^for policy `[^`]*`, /, '')
      .replace(/^failed to parse (policies from string|policy with id `[^`]*` from string): /, ''),
    ...(help === null ? {} : { help: sentence(help) }),
    ...(where === undefined ? {} : { start: unitOf(text, where.start), end: unitOf(text, where.end) }),
  };
}

/** The engine counts bytes. */
function unitOf(text: string, byte: number): number {
  return Buffer.from(text, 'utf8').subarray(0, byte).toString('utf8').length;
}

function effectsIn(text: string): readonly string[] {
  const parts = cedar().policySetTextToParts(text);
  if (parts.type === 'failure') return [];
  return parts.policies.flatMap((each) => {
    const json = cedar().policyToJson(each);
    return json.type === 'success' ? [json.json.effect] : [];
  });
}

function sentence(help: string): string {
  const text = help.charAt(0).toUpperCase() + help.slice(1);
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
