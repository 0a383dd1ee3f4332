/**
 * The five risk profiles as data: what an agent of each kind may do by itself, what it must ask for, and what ends its run.
 * A row names what it is about in words and by what a compiler can match: classes of effects, categories, names, signals.
 */
import type { TerminalCode } from '../../core/codes.ts';
import type { Consequence, Expr, ToolDef } from '../../core/ir.ts';

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
/** `when` may read `tool`, `args`, `effect`, `approval` and `observations`; `trouble` is a refusal that ends the run. */
export type Closing = { readonly what: string; readonly code: TerminalCode } & (
  | { readonly when: Expr }
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

/** A tool, or whoever checks its result, reports by name what only it can see: `{ signals: ["vendor_risk"] }`. */
export function signalled(name: string): Expr {
  return `observations.exists(o, type(o.result) == map && type(o.result.signals) == list && o.result.signals.exists(s, s == "${name}"))`;
}

const SECRET =
  're(text(args), "(AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY|gh[pousr]_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,})")';
const FAILED_TESTS =
  'approval && observations.exists(o, o.ok == true && o.tool != "shell_run" && (o.tool == "write_file" || o.tool == "patch_file" || o.tool == "delete_file")) && cel.bind(t, observations.filter(o, o.tool == "shell_run"), size(t) > 0 && t[size(t) - 1].ok != true)';
const PRODUCTION = 'effect != "read" && !approval && re(text(args), "(?i)\\\\bprod(uction)?\\\\b")';
const DESTRUCTIVE =
  'effect != "read" && re(text(tool, " ", args), "(?i)(rm -rf|drop (table|database)|truncate table|\\\\bdestroy\\\\b|\\\\bwipe\\\\b|delete_all|mkfs)")';

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
      { what: 'Ungrounded claims presented as verified', when: signalled('ungrounded_claim'), code: 'VALIDATION_FAIL' },
      { what: 'Source-policy conflict', when: signalled('source_policy_conflict'), code: 'SOURCE_CONFLICT' },
    ],
    escalation: { denied: 'fail' },
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
    escalation: { denied: 'fail' },
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
      { what: 'Identity mismatch', when: signalled('identity_mismatch'), code: 'UNSAFE_DETECTION' },
      {
        what: 'Payment change',
        when: `${signalled('payment_change')} || (effect != "read" && re(tool, "(?i)payment_(method|details)|bank_details"))`,
        code: 'PERMISSION_DENIED',
      },
      { what: 'Policy exception', when: signalled('policy_exception'), code: 'PERMISSION_DENIED' },
      { what: 'Regulated support category', when: signalled('regulated_category'), code: 'REVIEW_REQUIRED' },
    ],
    escalation: {},
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
      { what: 'Budget breach', trouble: 'budget', code: 'BUDGET_EXHAUSTED' },
      { what: 'Missing approval chain', trouble: 'rejected', code: 'PERMISSION_DENIED' },
      { what: 'Vendor risk conflict', when: signalled('vendor_risk'), code: 'SOURCE_CONFLICT' },
      { what: 'Contract ambiguity', when: signalled('contract_ambiguity'), code: 'REVIEW_REQUIRED' },
    ],
    escalation: { rejected: 'fail' },
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
      { what: 'Security incident', when: signalled('security_incident'), code: 'UNSAFE_DETECTION' },
      { what: 'Destructive action', when: DESTRUCTIVE, code: 'UNSAFE_DETECTION' },
      { what: 'Uncertain blast radius', when: signalled('uncertain_blast_radius'), code: 'REVIEW_REQUIRED' },
      { what: 'Missing operator approval', trouble: 'rejected', code: 'PERMISSION_DENIED' },
    ],
    escalation: { rejected: 'fail' },
  },
};
