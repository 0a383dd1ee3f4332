/** Verdicts, and what kind of failure a verdict without a kind is. */
import type { EvidenceFailure } from '../../catalog/validators.ts';
import type { Verdict } from './evidence.ts';

export function pass(evidence: readonly string[] = [], reason = ''): Verdict {
  return { ok: true, reason, evidence };
}

export function block(failure: EvidenceFailure, reason: string, evidence: readonly string[] = []): Verdict {
  return { ok: false, reason, failure, evidence };
}

const CONFLICTING = [
  'fake',
  'hallucin',
  'inconsistent',
  'no evidence',
  'never ran',
  'never actually ran',
  'not in change log',
  'not recorded',
  'command was not run',
  'no record',
  'fabricated',
  'cannot be verified',
  'unverifiable',
];
const MISSING = [
  'not found',
  'does not exist',
  'no file',
  'missing',
  'could not read',
  'failed to read',
  'brief not',
  'test report not',
];

/** For a validator of the user's own that only says why. */
export function kindOf(reason: string): EvidenceFailure {
  const said = reason.toLowerCase();
  if (CONFLICTING.some((mark) => said.includes(mark))) return 'ConflictingEvidence';
  if (MISSING.some((mark) => said.includes(mark))) return 'MissingEvidence';
  return 'InvalidTransition';
}
