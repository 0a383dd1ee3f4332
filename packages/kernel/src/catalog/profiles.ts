/**
 * The five risk profiles as data: the actions that an agent may do alone, those that need approval, and those that end the run.
 * A row describes its actions in words, and in terms that the compiler can match: classes of effects, categories, names, signals.
 * A name or a category can allow only a plain write. Money, messages and infrastructure always need approval. Reads need none,
 * so a row that needs approval by name applies to tools that change something, unless the row is about reading itself.
 */
import type { TerminalCode } from '../ir/codes.ts';
import { CLASS_CONTROLS, EFFECT_CLASSES } from '../ir/effect-classes.ts';
import type { Consequence, Expr, ToolDef } from '../ir/nodes.ts';
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
} from './profile-conditions.ts';

export type Effect = ToolDef['effect'];
export interface Row {
  readonly what: string;
  readonly effects?: readonly Effect[];
  readonly categories?: readonly string[];
  /** Words in the name of a tool. */
  readonly words?: readonly string[];
  /** Calls that cost money. */
  readonly paid?: true;
}
/** `when` is a condition over what a guard may read; `trouble` is a refusal that ends the run. */
type Closing = { readonly what: string; readonly code: TerminalCode } & (
  | { readonly when: Expr; readonly trouble?: string }
  | { readonly trouble: string }
);
export interface Profile {
  readonly allowed: readonly Row[];
  readonly approval: readonly Row[];
  readonly failClosed: readonly Closing[];
  readonly escalation: { readonly [trouble: string]: Consequence };
}

const READING: readonly Effect[] = ['read', 'egress'];
export const MUTATING: readonly Effect[] = EFFECT_CLASSES.filter((each) => CLASS_CONTROLS[each].approval !== 'no');
const DRAFTS = ['draft', 'drafts'];
const RECOMMENDATIONS = ['recommend', 'recommends', 'recommendation', 'recommendations'];

export const PROFILES: { readonly [name in 'research' | 'coding' | 'support' | 'procurement' | 'sre']: Profile } = {
  research: {
    allowed: [
      { what: 'Browse approved sources', effects: READING },
      { what: 'Retrieve documents', effects: READING, categories: ['retrieval', 'lookup'] },
      { what: 'Ask for review', effects: ['write'], categories: ['review'] },
    ],
    approval: [
      { what: 'Persistent memory writes', words: ['memory', 'memories', 'remember'], effects: MUTATING },
      { what: 'Sensitive-source expansion', words: ['sensitive', 'expand scope'] },
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
    allowed: [
      { what: 'Read files', effects: READING },
      { what: 'Propose patches and write local files', effects: ['write'], categories: ['file_system'] },
      { what: 'Run tests in the sandbox', effects: ['write'], categories: ['sandbox'] },
      { what: 'Ask for review', effects: ['write'], categories: ['review'] },
    ],
    approval: [
      { what: 'Pushes', words: ['push', 'pushes', 'pushing'], effects: MUTATING },
      { what: 'Deployments', words: ['deploy*', 'redeploy*', 'release', 'releases'], effects: MUTATING },
      {
        what: 'Credential changes',
        words: ['credential*', 'secret', 'secrets', 'token', 'tokens', 'password*'],
        effects: MUTATING,
      },
      {
        what: 'Destructive file operations',
        words: ['delet*', 'remov*', 'rm', 'unlink', 'erase', 'purge', 'wipe', 'destroy'],
        effects: MUTATING,
      },
      { what: 'Production migrations', words: ['migrat*'], effects: MUTATING },
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
    allowed: [
      { what: 'Search documentation and read account state', effects: READING },
      { what: 'Draft replies', words: DRAFTS, effects: ['write'] },
      { what: 'Classify issues', words: ['classify', 'tag', 'tags'], effects: ['write'] },
      { what: 'Ask for review', effects: ['write'], categories: ['review'] },
    ],
    approval: [
      { what: 'Refunds', words: ['refund*'], effects: MUTATING },
      { what: 'Cancellations', words: ['cancel*'], effects: MUTATING },
      { what: 'Account changes', words: ['account', 'accounts'], effects: MUTATING },
      {
        what: 'Legal commitments',
        words: ['contract', 'contracts', 'legal', 'commit', 'commitment*'],
        effects: MUTATING,
      },
      { what: 'Sending to people outside', effects: ['communication'] },
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
    allowed: [
      { what: 'Compare vendors, extract terms, flag risks', effects: READING },
      { what: 'Prepare recommendation packets', words: [...DRAFTS, ...RECOMMENDATIONS], effects: ['write'] },
      { what: 'Ask for review', effects: ['write'], categories: ['review'] },
    ],
    approval: [
      { what: 'Purchase orders', words: ['purchas*', 'order', 'orders', 'reorder'], effects: MUTATING },
      { what: 'Invoice release', words: ['invoic*'], effects: MUTATING },
      { what: 'Contract changes', words: ['contract', 'contracts'], effects: MUTATING },
      { what: 'Vendor onboarding', words: ['onboard*', 'vendor', 'vendors'], effects: MUTATING },
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
    allowed: [
      { what: 'Query logs, inspect metrics, compare deploys', effects: READING },
      { what: 'Draft runbook steps, recommend a rollback', words: [...DRAFTS, ...RECOMMENDATIONS], effects: ['write'] },
      { what: 'Ask for review', effects: ['write'], categories: ['review'] },
    ],
    approval: [
      { what: 'Restarts', words: ['restart*'], effects: MUTATING },
      { what: 'Traffic shifts', words: ['traffic'], effects: MUTATING },
      { what: 'Config changes', words: ['config*', 'reconfig*'], effects: MUTATING },
      { what: 'Data migrations', words: ['migrat*'], effects: MUTATING },
      { what: 'Production rollback', words: ['rollback*', 'roll back'], effects: MUTATING },
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

export function speaksOf(name: string, patterns: readonly string[]): boolean {
  const words = wordsOf(name);
  return patterns.some((pattern) => {
    const wanted = pattern.split(' ');
    return words.some((_, from) => wanted.every((each, at) => fits(words[from + at], each)));
  });
}

/**
 * Words are separated by characters other than letters, and by capitals inside: `HTTPPost`, `sendMail2` and `send_mail` have
 * two each.
 */
function wordsOf(name: string): readonly string[] {
  return (name.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lo}+/gu) ?? []).map((word) => word.toLowerCase());
}

function fits(word: string | undefined, pattern: string): boolean {
  if (word === undefined) return false;
  return pattern.endsWith('*') ? word.startsWith(pattern.slice(0, -1)) : word === pattern;
}
