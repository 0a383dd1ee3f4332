/**
 * The five risk profiles as data: what an agent of each kind may do by itself, what it must ask for, and what ends its run.
 * A row names what it is about in words and by what a compiler can match: classes of effects, categories, names, signals.
 */
import type { TerminalCode } from '../../core/codes.ts';
import type { Consequence, Expr, ToolDef } from '../../core/ir.ts';
import {
  AMBIGUOUS_CONTRACT,
  BLAST_RADIUS,
  DESTRUCTIVE,
  EXCEPTION,
  FAILED_TESTS,
  IDENTITY,
  NO_CHAIN,
  OVER_BUDGET,
  PAYMENT_CHANGE,
  PRODUCTION,
  REGULATED,
  SECRET,
  SECURITY_INCIDENT,
  SOURCE_POLICY,
  UNGROUNDED,
  VENDOR_RISK,
} from './closings.ts';

export type Effect = ToolDef['effect'];
export interface Row {
  readonly what: string;
  readonly effects?: readonly Effect[];
  readonly categories?: readonly string[];
  /** Patterns over a tool's full name. */
  readonly tools?: readonly string[];
  /** Calls that cost money. */
  readonly paid?: true;
}
/** `when` is a condition over what a guard may read; `trouble` is a refusal that ends the run. */
export type Closing = { readonly what: string; readonly code: TerminalCode } & (
  | { readonly when: Expr; readonly trouble?: string }
  | { readonly trouble: string }
);
export interface Profile {
  readonly autonomy: string;
  readonly allowed: readonly Row[];
  readonly approval: readonly Row[];
  readonly failClosed: readonly Closing[];
  readonly escalation: { readonly [trouble: string]: Consequence };
}

export const MUTATING: readonly Effect[] = ['write', 'financial', 'communication', 'infrastructure'];

export const PROFILES: { readonly [name in 'research' | 'coding' | 'support' | 'procurement' | 'sre']: Profile } = {
  research: {
    autonomy: 'high, read-only',
    allowed: [
      { what: 'Browse approved sources', effects: ['read'] },
      { what: 'Retrieve documents', effects: ['read'], categories: ['retrieval', 'lookup'] },
      { what: 'Ask for review', categories: ['review'] },
    ],
    approval: [
      { what: 'Persistent memory writes', tools: ['memory.*', 'memory_*', '*.remember', 'remember'] },
      { what: 'Sensitive-source expansion', tools: ['sensitive.*', '*.sensitive', '*.expand_scope'] },
      { what: 'Paid external lookups', paid: true },
      { what: 'Anything that changes the world', effects: MUTATING },
    ],
    failClosed: [
      { what: 'Unauthorized data access', trouble: 'denied', code: 'PERMISSION_DENIED' },
      { what: 'Ungrounded claims presented as verified', when: UNGROUNDED, code: 'VALIDATION_FAIL' },
      { what: 'Source-policy conflict', when: SOURCE_POLICY, code: 'SOURCE_CONFLICT' },
    ],
    escalation: { denied: 'fail', ungrounded: 'tell' },
  },
  coding: {
    autonomy: 'bounded, within the workspace',
    allowed: [
      { what: 'Read files', effects: ['read'] },
      { what: 'Propose patches and write local files', effects: ['write'], categories: ['file_system'] },
      { what: 'Run tests in the sandbox', categories: ['sandbox'] },
      { what: 'Ask for review', categories: ['review'] },
    ],
    approval: [
      { what: 'Pushes', tools: ['*push*'] },
      { what: 'Deployments', tools: ['*deploy*', '*release*'] },
      { what: 'Credential changes', tools: ['*credential*', '*secret*', '*token*', '*password*'] },
      { what: 'Destructive file operations', tools: ['delete_file', '*delete*', '*remove*'] },
      { what: 'Production migrations', tools: ['*migrat*'] },
      { what: 'Anything else beyond the workspace', effects: MUTATING },
    ],
    failClosed: [
      { what: 'Secret exposure', when: SECRET, code: 'UNSAFE_DETECTION' },
      { what: 'Failing tests after mutation', when: FAILED_TESTS, code: 'VALIDATION_FAIL' },
      { what: 'Unauthorized repo access', trouble: 'denied', code: 'PERMISSION_DENIED' },
      { what: 'Production-impacting command', when: PRODUCTION, code: 'UNSAFE_DETECTION' },
    ],
    escalation: { denied: 'fail', ungrounded: 'tell' },
  },
  support: {
    autonomy: 'bounded actions',
    allowed: [
      { what: 'Search documentation and read account state', effects: ['read'] },
      { what: 'Draft replies', tools: ['*draft*'] },
      { what: 'Classify issues', tools: ['*classify*', '*tag*'] },
      { what: 'Ask for review', categories: ['review'] },
    ],
    approval: [
      { what: 'Refunds', tools: ['*refund*'] },
      { what: 'Cancellations', tools: ['*cancel*'] },
      { what: 'Account changes', tools: ['*account*'], effects: MUTATING },
      { what: 'Legal commitments', tools: ['*contract*', '*legal*', '*commit*'], effects: MUTATING },
      { what: 'Sending to somebody outside', effects: ['communication'] },
      { what: 'Anything else that changes the world', effects: MUTATING },
    ],
    failClosed: [
      { what: 'Identity mismatch', when: IDENTITY, code: 'UNSAFE_DETECTION' },
      { what: 'Payment change', when: PAYMENT_CHANGE, code: 'PERMISSION_DENIED' },
      { what: 'Policy exception', when: EXCEPTION, code: 'PERMISSION_DENIED' },
      { what: 'Regulated support category', when: REGULATED, code: 'REVIEW_REQUIRED' },
    ],
    escalation: { ungrounded: 'ask' },
  },
  procurement: {
    autonomy: 'low, hardly any mutation',
    allowed: [
      { what: 'Compare vendors, extract terms, flag risks', effects: ['read'] },
      { what: 'Prepare recommendation packets', tools: ['*draft*', '*recommend*'] },
      { what: 'Ask for review', categories: ['review'] },
    ],
    approval: [
      { what: 'Purchase orders', tools: ['*purchase*', '*order*'], effects: MUTATING },
      { what: 'Invoice release', tools: ['*invoice*'], effects: MUTATING },
      { what: 'Contract changes', tools: ['*contract*'], effects: MUTATING },
      { what: 'Vendor onboarding', tools: ['*onboard*', '*vendor*'], effects: MUTATING },
      { what: 'Payment execution', effects: ['financial'] },
      { what: 'Anything else that changes the world', effects: MUTATING },
    ],
    failClosed: [
      { what: 'Budget breach', trouble: 'budget', when: OVER_BUDGET, code: 'BUDGET_EXHAUSTED' },
      { what: 'Missing approval chain', trouble: 'rejected', when: NO_CHAIN, code: 'PERMISSION_DENIED' },
      { what: 'Vendor risk conflict', when: VENDOR_RISK, code: 'SOURCE_CONFLICT' },
      { what: 'Contract ambiguity', when: AMBIGUOUS_CONTRACT, code: 'REVIEW_REQUIRED' },
    ],
    escalation: { rejected: 'fail', ungrounded: 'ask' },
  },
  sre: {
    autonomy: 'high for diagnosis, low for mutation',
    allowed: [
      { what: 'Query logs, inspect metrics, compare deploys', effects: ['read'] },
      { what: 'Draft runbook steps, recommend a rollback', tools: ['*draft*', '*recommend*'] },
      { what: 'Ask for review', categories: ['review'] },
    ],
    approval: [
      { what: 'Restarts', tools: ['*restart*'] },
      { what: 'Traffic shifts', tools: ['*traffic*'] },
      { what: 'Config changes', tools: ['*config*'], effects: MUTATING },
      { what: 'Data migrations', tools: ['*migrat*'] },
      { what: 'Production rollback', tools: ['*rollback*'] },
      { what: 'Anything else that changes the world', effects: MUTATING },
    ],
    failClosed: [
      { what: 'Security incident', when: SECURITY_INCIDENT, code: 'UNSAFE_DETECTION' },
      { what: 'Destructive action', when: DESTRUCTIVE, code: 'UNSAFE_DETECTION' },
      { what: 'Uncertain blast radius', when: BLAST_RADIUS, code: 'REVIEW_REQUIRED' },
      { what: 'Missing operator approval', trouble: 'rejected', code: 'PERMISSION_DENIED' },
    ],
    escalation: { rejected: 'fail', ungrounded: 'fail' },
  },
};
