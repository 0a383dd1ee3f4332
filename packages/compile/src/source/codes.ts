/**
 * Every code that the compiler may report. The set is closed: a diagnostic cannot carry any other, and each has a page at
 * docs/errors/<code>.md, which a test checks in both directions.
 */
export const DIAGNOSTIC_CODES = [
  // The text
  'empty-document',
  'syntax-error',
  'duplicate-key',
  'bad-key',
  'not-json',
  'unknown-alias',
  'too-many-aliases',
  'too-deep',
  'too-many-values',
  'too-many-nodes',
  'too-large',

  // Shapes
  'unknown-key',
  'missing-field',
  'wrong-type',
  'bad-value',
  'unchecked-criteria',
  'bad-schema',

  // The notation
  'no-notation',
  'several-notations',
  'unknown-notation',
  'bad-version',

  // Names
  'duplicate-id',
  'reserved-id',
  'unknown-agent',
  'unknown-tool',
  'unknown-model',
  'unknown-provider',
  'unknown-server',
  'unknown-target',
  'unknown-entry',
  'unknown-choice',
  'unknown-flow',
  'recursive-flow',
  'tool-conflict',
  'join-target-in-branch',
  'impatient-join',
  'no-effect',
  'map-in-itself',
  'unclear-expiry',
  'silence-approves',
  'people-twice',
  'look-alike',
  'unknown-approver',
  'quorum-too-large',
  'nobody-approves',
  'unknown-name',
  'unknown-variable',
  'duplicate-variable',

  // Tools and agents
  'incomplete-tool',
  'unlocked-server',
  'undeclared-effect',
  'several-implementations',
  'bad-policy',
  'policy-permits-nothing',
  'not-granted',
  'looser-boundary',
  'simpler-tier',
  'missing-price',
  'not-supported',
  'swarm',
  'no-compensation',
  'protection-off',
  'not-enforced',

  // The graph
  'unreachable-node',
  'uncapped-cycle',
  'no-way-out',
  'no-terminal',
  'too-few-branches',
  'branch-to-end',
  'count-without-number',
  'count-above-branches',
  'default-not-last',
  'empty-error-route',
  'unreachable-route',
  'never-holds',
  'overlapping-guards',
  'guard-without-schema',
  'not-yet-run',

  // Expressions
  'bad-expression',
  'bad-template',
  'bad-regex',
  'type-mismatch',

  // Steps
  'missing-agent',
  'same-agent',
  'collect-without-fanout',
  'empty-condition',
  'unused-field',

  // Teams
  'unknown-validator',
  'unknown-contract',
  'unknown-sub-graph',
  'no-termination',
  'ignored-termination',
  'shadowed-keyword',
  'same-role',
  'bad-parallel',
  'unequal-arms',

  // The certificate and the input
  'unbounded-cost',
  'budget-too-small',
  'huge-bound',
  'missing-prerequisite',
  'over-max-cost',
  'bad-input',
  'bad-suite',
  'bad-script',
] as const;

export type DiagnosticCode = (typeof DIAGNOSTIC_CODES)[number];

export function isDiagnosticCode(code: string): code is DiagnosticCode {
  return DIAGNOSTIC_CODES.some((each) => each === code);
}
